// All skills: what they are, how they stand and why, what they cost.

import { request } from "../connection.js";
import { h, replace } from "../dom.js";
import { compact, count, plural } from "../format.js";
import { chip, head, searchField } from "../parts.js";
import { href, remember } from "../router.js";
import { rows } from "../rows.js";
import { emojiOf, isUsable, referTo, problemNode, STATES, stateChip, verdictChip, verdictOf, wantVerdicts } from "../skillwords.js";
import { empty } from "../states.js";

export const title = "Skills";
export const path = "/skills";

let lastScroll = 0; // where the list was left

export async function render(view, params) {
  const chosen = { state: params.state ?? "", words: params.q ?? "" };
  let known = await read(view);
  if (!known) return;

  const filters = h("div", { class: "filters", role: "group", "aria-label": "States" });
  const none = h("div", { hidden: true }, empty("No skill fits", "Try other words, or another state."));
  const list = rows({ label: "Skills", view, make, link: (one) => href(`/skills/${encodeURIComponent(referTo(one))}`), onSeen: seen });
  const said = h("p", { class: "unseen", role: "status" });
  const sub = h("span", {});
  const problems = h("div", {});

  function seen(items) {
    wantVerdicts(items, (skill) => {
      for (const cell of list.element.querySelectorAll("[data-digest]")) {
        if (cell.dataset.digest === skill.digest) replace(cell, verdictCell(skill));
      }
    });
  }

  function show() {
    const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = known.skills.filter((one) => fits(one, words));
    const shown = fitting.filter((one) => !chosen.state || one.state === chosen.state);
    replace(filters, filterButtons(fitting));
    replace(sub, summary(known.skills));
    replace(problems, diagnosticsOf(known.diagnostics));
    none.hidden = shown.length > 0;
    columns.hidden = shown.length === 0;
    list.set(shown);
    said.textContent = `${plural(shown.length, "skill")} shown`;
  }

  function filterButtons(fitting) {
    const counts = Map.groupBy(fitting, (one) => one.state);
    const button = (state, text, value) =>
      h("button", { type: "button", class: "filter", "aria-pressed": String(chosen.state === state), onclick: () => choose({ state }) }, text, h("span", { class: "filter-count" }, count(value)));
    const states = Object.keys(STATES).filter((one) => counts.has(one) || chosen.state === one);
    return [button("", "All", fitting.length), ...states.map((one) => button(one, one, counts.get(one)?.length ?? 0))];
  }

  function choose(now) {
    Object.assign(chosen, now);
    remember(path, { state: chosen.state, q: chosen.words });
    const pressed = document.activeElement?.closest(".filter") ? chosen.state : null;
    show();
    if (pressed !== null) filters.querySelector("[aria-pressed=true]")?.focus();
  }

  const columns = columnTitles();
  view.show(
    head("Skills", { sub }),
    problems,
    h("div", { class: "bar" }, searchField({ label: "Find a skill", value: chosen.words, onInput: (words) => choose({ words }) })),
    filters, said, columns, list.element, none,
  );
  show();
  if (lastScroll) scrollTo(0, lastScroll);
  addEventListener("scroll", () => (lastScroll = scrollY), { passive: true, signal: view.signal });
  view.subscribe("skills", async () => {
    const now = await request("list_skills").catch(() => null); // the banner tells of a lost connection
    if (now && !view.isLeft) {
      known = now;
      show();
    }
  });
}

async function read(view) {
  const known = await new Promise((resolve) => {
    view.load(() => request("list_skills"), (answer) => (resolve(answer), []));
  });
  if (known.skills.length === 0) {
    view.show(head("Skills"), empty("No skills yet", "Put a folder with a SKILL.md into ~/.clawft/skills, or install one from a registry."));
    view.subscribe("skills", () => render(view, {}));
    return null;
  }
  return known;
}

function fits(skill, words) {
  if (words.length === 0) return true;
  const text = `${skill.name} ${skill.display_name} ${skill.description} ${skill.scope}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function summary(skills) {
  const usable = skills.filter((one) => isUsable(one.state));
  const cost = skills.filter((one) => one.state === "ready").reduce((sum, one) => sum + one.tokens.catalog, 0);
  return `${count(usable.length)} of ${plural(skills.length, "skill")} can be used. The model is told of the ready ones, for about ${compact(cost)} tokens.`;
}

function diagnosticsOf(diagnostics) {
  if (diagnostics.length === 0) return null;
  const list = h("ul", { class: "problems" }, diagnostics.map((one) => problemNode(one)));
  return h("details", { class: "fold" }, h("summary", {}, chip(plural(diagnostics.length, "notice"), "warn"), "about the config and folders of skills"), h("div", { class: "fold-in" }, list));
}

function columnTitles() {
  const names = ["Skill", "State", "Verdict", "Scope", "Tokens"];
  return h("div", { class: "skill-columns", "aria-hidden": "true" }, names.map((one) => h("span", {}, one)));
}

function make(skill) {
  const reason = skill.reasons[0]?.message ?? "";
  return h(
    "div",
    { class: reason && !isUsable(skill.state) ? "skill-row has-reason" : "skill-row" },
    h(
      "div",
      { class: "skill-what" },
      h("span", { class: "skill-name" }, emojiOf(skill), skill.name),
      h("span", { class: "skill-about" }, skill.description || "No description"),
      reason && h("span", { class: "skill-why" }, reason), // where there is no room for it beside the state
    ),
    h("div", { class: "skill-state" }, stateChip(skill.state), reason && h("span", { class: "skill-reason", title: reason }, reason)),
    h("div", { class: "skill-verdict", dataset: { digest: skill.digest ?? "" } }, verdictCell(skill)),
    h("div", { class: "skill-scope" }, skill.scope),
    h("div", { class: "skill-cost", title: "About so many tokens: its line in the catalog, and its text when it is loaded" }, `${compact(skill.tokens.catalog)} listed`, h("span", { class: "quiet" }, `${compact(skill.tokens.body)} loaded`)),
  );
}

function verdictCell(skill) {
  const verdict = verdictOf(skill);
  if (verdict === "suspicious" || verdict === "malicious") return verdictChip(verdict);
  return h("span", { class: "quiet" }, verdict ?? "–"); // what is worth a look stands out
}
