// Runs in the background: how they stand, what they wait for, and what each of them did.

import { request } from "../connection.js";
import { rest } from "../dialogs.js";
import { h, replace } from "../dom.js";
import { ago, compact, count, duration, money, plural, when } from "../format.js";
import { markdown } from "../markdown.js";
import { may } from "../me.js";
import { facts, fold, head, section, table } from "../parts.js";
import { href, navigate, remember } from "../router.js";
import { runActions, runQuestion, stateOf, statusChip, STATUSES } from "../runwords.js";
import { empty } from "../states.js";
import { timelineTable } from "../timeline.js";
import { toastError } from "../toasts.js";

export const title = "Background runs";
export const path = "/runs";
export const paths = ["/runs/:run"];

const addressOf = (run) => href(`${path}/${encodeURIComponent(run)}`);

export function render(view, params) {
  return params.run === undefined ? renderList(view, params) : renderOne(view, params.run);
}

function renderList(view, params) {
  const chosen = { status: params.status ?? "" };
  const ask = (cursor = "") => request("list_runs", { statuses: chosen.status ? [chosen.status] : [], limit: 100, cursor });
  const again = () => keepFocus(view, () => view.load(ask, show));
  const choose = (status) => {
    chosen.status = status;
    remember(path, { status });
    again().then(() => view.element.querySelector(".filter[aria-pressed=true]")?.focus());
  };
  view.subscribe("runs", () => document.querySelector("dialog[open], .run-start[open]") || again());
  return again();

  function show(answer) {
    const waiting = answer.runs.flatMap((run) => run.questions.map((question) => [run, question]));
    return [
      head(title, { sub: "Work that goes on when everybody is gone, and survives a reboot." }),
      startForm(answer.missing),
      waiting.length ? section("Waiting for an answer", { sub: count(waiting.length) }, h("div", { class: "stack" }, waiting.map(([run, question]) =>
        runQuestion(run, question, { title: h("a", { href: addressOf(run.id) }, run.title || run.id), onDone: again })))) : null,
      answer.missing ? null : filters(answer.counts, chosen.status, choose),
      listOf(answer, chosen.status, ask),
    ];
  }
}

// What is read again is made anew: whoever was on a button stays on the one with the same words, of the same question.
// Questions that came or moved take no click for a moment. One reading waits for the other: in between nothing has the focus.
const reading = new WeakMap();

function keepFocus(view, again) {
  const read = () => readKeepingFocus(view, again);
  const mine = (reading.get(view) ?? Promise.resolve()).then(read, read);
  reading.set(view, mine);
  return mine;
}

async function readKeepingFocus(view, again) {
  const asked = () => [...view.element.querySelectorAll(".question")];
  const nameOf = (one) => `${one.closest(".question")?.dataset.question} ${one.textContent}`;
  const isHere = () => view.element.contains(document.activeElement);
  const name = isHere() ? nameOf(document.activeElement) : "";
  const before = asked().map((one) => one.dataset.question).join();
  await again();
  if (before !== asked().map((one) => one.dataset.question).join()) asked().forEach(rest);
  if (name && !isHere()) [...view.element.querySelectorAll("a, button")].find((one) => nameOf(one) === name)?.focus({ preventScroll: true });
}

function filters(counts, chosen, choose) {
  const all = Object.values(counts).reduce((sum, one) => sum + one, 0);
  const button = (status, text, value) =>
    h("button", { type: "button", class: "filter", "aria-pressed": String(status === chosen), onclick: () => choose(status) }, text, h("span", { class: "filter-count" }, count(value)));
  const known = Object.keys(STATUSES).filter((one) => counts[one] || one === chosen);
  return h("div", { class: "filters runs-filters", role: "group", "aria-label": "States" }, button("", "All", all), known.map((one) => button(one, one, counts[one] ?? 0)));
}

function listOf(answer, status, ask) {
  const next = (cursor) => cursor && (async () => {
    const more = await ask(cursor);
    return { rows: more.runs, next: next(more.cursor) || null };
  });
  const missing = answer.missing;
  const none = missing && missing.severity === "error"
    ? empty("Not installed", missing.message, h("code", {}, "pip install 'clawft[durable]'"))
    : empty(status ? `No run is ${status}` : "No runs yet", "Start one above, or in a terminal:", h("code", {}, "weft agent --background -m TEXT"));
  return table({
    label: title,
    rows: answer.runs,
    none,
    next: next(answer.cursor) || null,
    open: (one) => addressOf(one.id),
    columns: [
      { title: "What", class: "wide", cell: (one) => [one.title || one.id, h("span", { class: "under mono" }, one.id)] },
      { title: "State", cell: (one) => statusChip(one) },
      { title: "Kind", cell: (one) => one.kind },
      { title: "Steps", class: "number", cell: (one) => count(one.steps) },
      { title: "Tokens", class: "number", cell: (one) => compact(one.usage.input_tokens + one.usage.output_tokens) },
      { title: "Cost", class: "number", cell: (one) => (one.cost_usd === null ? "" : money(one.cost_usd)) },
      { title: "Asked for", class: "nowrap", cell: (one) => h("time", { datetime: one.created, title: when(one.created) }, ago(one.created)) },
    ],
  });
}

// A skill or a message, to be done in the background.
function startForm(missing) {
  if (missing && missing.severity === "error") return null;
  const skill = h("input", { id: "start-skill", placeholder: "none: a message to the agent", autocomplete: "off", spellcheck: "false" });
  const text = h("textarea", { id: "start-text", rows: "3", placeholder: "What it is to do" });
  const start = h("button", { type: "submit", class: "primary" }, "Start");
  const submit = async (event) => {
    event.preventDefault();
    if (!skill.value.trim() && !text.value.trim()) return text.focus();
    start.disabled = true;
    try {
      const started = await request("start_run", { skill: skill.value.trim().replace(/^\//, ""), text: text.value });
      if (started.problem) toastError({ problem: started.problem, message: started.problem.message });
      navigate(`${path}/${encodeURIComponent(started.run)}`);
    } catch (error) {
      toastError(error);
    }
    start.disabled = false;
    return undefined;
  };
  const form = h(
    "form",
    { class: "run-form", onsubmit: submit },
    h("div", { class: "field" }, h("label", { for: "start-skill" }, "Skill"), skill),
    h("div", { class: "field" }, h("label", { for: "start-text" }, "Arguments or message"), text),
    h("div", { class: "actions" }, start),
  );
  const whole = fold("Start a run", form);
  whole.classList.add("run-start");
  return whole;
}

async function renderOne(view, id) {
  const memory = {}; // it is shown anew with every step
  const again = () => keepFocus(view, () => view.load(() => request("get_run", { run: id }), ({ run }) => show(run)));
  await again();
  view.subscribe("runs", (message) => {
    if (message.type === "reconnected" || message.runs.some((one) => one.id.startsWith(id))) again();
  });

  function show(run) {
    const one = run.summary;
    const now = (changed) => {
      view.show(show(changed));
      view.element.querySelectorAll(".question").forEach(rest); // the next may stand where the last one was
    };
    view.setTitle(one.title || one.id);
    return [
      head(one.title || one.id, { back: { href: `#${path}`, text: title }, sub: h("span", {}, statusChip(one), " ", STATUSES[stateOf(one)]?.means), actions: may("run") ? runActions(one, now) : [] }),
      one.questions.length ? h("div", { class: "stack" }, one.questions.map((question) => runQuestion(one, question, { onDone: now }))) : null,
      one.error && h("div", { class: "card ending-problem", role: "alert" }, h("strong", {}, one.error.message), one.error.hint && h("p", {}, one.error.hint), h("p", { class: "quiet mono" }, one.error.code)),
      run.result?.trim() ? section("Result", {}, h("div", { class: "card said" }, markdown(run.result.trim()))) : null,
      section("Timeline", { sub: totals(run.totals) }, run.left_out ? h("p", { class: "quiet" }, `${plural(run.left_out, "earlier step")} not shown.`) : null, timelineTable(run.timeline, memory)),
      section("About it", {}, h("div", { class: "card" }, aboutIt(one))),
    ];
  }
}

function totals(one) {
  const spent = [[one.model_ms, "models"], [one.tool_ms, "tools"], [one.waited_ms, "waiting for you"]].filter(([ms]) => ms).map(([ms, words]) => `${duration(ms)} ${words}`);
  const tokens = `${count(one.usage.input_tokens)} tokens in, ${count(one.usage.output_tokens)} out`;
  const cost = one.cost_usd === null ? "" : `, ${money(one.cost_usd)}`;
  return `${plural(one.steps, "step")} in ${duration(one.elapsed_ms)}${spent.length ? `: ${spent.join(", ")}` : ""}; ${tokens}${cost}`;
}

function aboutIt(one) {
  return facts([
    ["Run", h("span", { class: "mono" }, one.id)],
    ["Kind", one.kind],
    ["Session", h("a", { href: href(`/sessions/${encodeURIComponent(one.session)}`) }, one.session)],
    ["Project", h("span", { class: "mono" }, one.project)],
    ["Asked for", when(one.created)],
    ["Finished", one.finished && when(one.finished)],
    ["Work", one.worked_ms && duration(one.worked_ms)],
    ["Worker", one.worker && h("span", { class: "mono" }, one.worker)],
    ["Attempts", one.attempt > 1 && count(one.attempt)],
    ["Queue", one.queue !== "default" && one.queue],
    ["Parent", one.parent && h("a", { href: addressOf(one.parent) }, one.parent)],
    ["Fleet", one.fleet && `${one.fleet}, line ${one.line}`],
  ]);
}
