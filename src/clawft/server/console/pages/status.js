// How the daemon is.

import { recentChanges } from "../changes.js";
import { request, watchConnection } from "../connection.js";
import { h } from "../dom.js";
import { ago, count, plural, when } from "../format.js";
import { chip, facts, head, numbers, section, table } from "../parts.js";
import { problemNode } from "../skillwords.js";
import { may } from "../me.js";
import { toast, toastError } from "../toasts.js";
import { nothing } from "../states.js";

export const title = "Status";
export const path = "/status";

const LOOK_MS = 5000;

export async function render(view) {
  const read = async () => [await request("get_status"), may("run") ? (await request("list_executions")).executions : []];
  const again = () => view.load(read, show);
  await again();
  view.subscribe("skills", again);
  const isInUse = () => document.hidden || view.element.contains(document.activeElement) || !getSelection().isCollapsed;
  let isOpen = true;
  const timer = setInterval(() => !isOpen || isInUse() || again(), LOOK_MS);
  view.onLeave(watchConnection(({ state }) => {
    isOpen = state === "open";
    view.element.classList.toggle("stale", !isOpen);
    const sub = view.element.querySelector(".sub");
    if (sub && !isOpen) sub.textContent = "The daemon cannot be reached: this is how it was before.";
  }));
  view.onLeave(() => clearInterval(timer));

  function show([status, executions]) {
    const bad = status.subsystems.filter((one) => one.problem);
    return [
      head("Status", { sub: bad.length ? `${plural(bad.length, "part")} of the daemon ${bad.length === 1 ? "has" : "have"} a problem.` : "All parts of the daemon are well." }),
      numbers([
        ["Skills", count(status.skills)], ["Working", count(status.executions)], ["Waiting for a turn", count(status.waiting)],
        ["Questions", count(status.questions)], ["Generation", count(status.generation)],
      ]),
      section("Parts", {}, h("ul", { class: "card problems" }, status.subsystems.map(part))),
      section("Work that goes on", {}, work(executions, again, status.executions)),
      section("Changes on disk", { sub: `seen by ${status.watching}` }, changes()),
      section("Daemon", {}, h("div", { class: "card" }, facts([
        ["Version", status.version],
        ["Started", `${when(status.started)} (${ago(status.started)})`],
        ["Project", h("span", { class: "mono" }, status.project)],
        ["Model", status.model || "none is set"],
        ["You", `${status.you} (${status.scopes.join(", ")})`],
      ]))),
    ];
  }
}

function part(one) {
  if (!one.problem) return h("li", { class: "problem-row" }, chip("well", "good"), h("p", {}, one.name));
  const problem = { ...one.problem, message: `${one.name}: ${one.problem.message}` };
  return problemNode(problem, { lead: chip("problem", "bad") });
}

function work(executions, again, all) {
  const cancel = async (one) => {
    try {
      await request("cancel", { execution: one.execution });
      toast("Cancelled", { kind: "good" });
      again();
    } catch (error) {
      toastError(error);
    }
  };
  return table({
    label: "Work that goes on",
    rows: executions,
    none: nothing(all ? `${plural(all, "turn goes on", "turns go on")}, of others: your token does not show them.` : "Nothing goes on now."),
    columns: [
      { title: "What", cell: (one) => one.skill || "a message" },
      { title: "Who", cell: (one) => one.caller },
      { title: "Session", class: "mono", cell: (one) => one.session },
      { title: "Since", cell: (one) => ago(one.started) },
      { title: "Events", class: "number", cell: (one) => (one.waiting ? "waits" : count(one.events)) },
      { title: "", cell: (one) => h("button", { type: "button", class: "small", "aria-label": `Cancel ${one.skill || "the message"}`, onclick: () => cancel(one) }, "Cancel") },
    ],
  });
}

function changes() {
  return table({
    label: "Changes on disk",
    rows: recentChanges(),
    none: nothing("None since this page was opened."),
    columns: [
      { title: "When", cell: (one) => when(one.at) },
      { title: "Generation", class: "number", cell: (one) => count(one.generation) },
      { title: "What", class: "wide", cell: (one) => one.text },
      { title: "Took", class: "number", cell: (one) => `${Math.round(one.took_ms)} ms` },
    ],
  });
}
