// What models cost, day by day, and how skills are used.

import { request } from "../connection.js";
import { h, replace } from "../dom.js";
import { compact, count, money, plural } from "../format.js";
import { chip, fold, head, numbers, section, select, table } from "../parts.js";
import { cellBar, columns } from "../plot.js";
import { href, remember } from "../router.js";
import { empty, nothing } from "../states.js";

export const title = "Usage";
export const path = "/usage";

const RANGES = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "A year"]];
const DAY_MS = 86_400_000;

export function render(view, params) {
  const days = RANGES.some(([key]) => key === params.days) ? Number(params.days) : 30;
  const since = dayOf(Date.now() - (days - 1) * DAY_MS);
  const choose = (chosen) => {
    remember(path, { days: chosen });
    render(view, { days: chosen });
  };
  return view.load(() => request("get_usage", { since }), (usage) => [
    head(title, {
      sub: "What models cost and how skills are used, of all sessions on this machine.",
      actions: [select({ label: "Range", value: String(days), options: RANGES, onChange: choose })],
    }),
    usage.problem && h("p", { class: "notice" }, `What runs cost on other machines is not counted here: ${usage.problem.message}`),
    ...(usage.total.tokens === 0 ? [empty("No model was asked", `No tokens were spent in the last ${days} days.`, h("code", {}, "weft agent -m TEXT"))] : whole(usage)),
    skillSection(usage.skills),
  ]);
}

// A day of this place. Which one is today for its budgets is the daemon's to say.
function dayOf(time) {
  const at = new Date(time);
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;
}

function whole(usage) {
  const { total } = usage;
  const isPriced = total.usd > 0;
  return [
    numbers([["Cost", isPriced ? money(total.usd) : "–"], ["Tokens", compact(total.tokens)], ["Calls", count(total.calls)], ["Models", count(usage.models.length)]]),
    total.unpriced ? h("p", { class: "quiet plot-aside" }, `${plural(total.unpriced, "call")} of models whose price is not known cost nothing here. Prices are set in the config, under the provider.`) : null,
    budgetLine(usage),
    daySection(usage, isPriced),
    modelSection(usage.models, isPriced),
    sessionSection(usage.sessions, isPriced),
  ];
}

function budgetLine({ budget, days, until }) {
  const today = days.find((one) => one.name === until) ?? { usd: 0, tokens: 0 };
  const parts = [
    budget.per_day_usd !== null && `${money(today.usd)} of ${money(budget.per_day_usd)} today`,
    budget.per_day_tokens !== null && `${compact(today.tokens)} of ${compact(budget.per_day_tokens)} tokens today`,
  ].filter(Boolean);
  return parts.length ? h("p", { class: "plot-aside" }, chip("budget", "info"), " ", parts.join(", ")) : null;
}

function daySection(usage, isPriced) {
  const all = fill(usage);
  const place = h("div", {});
  const plots = {
    cost: () => columns({ label: `Cost for each day: ${money(usage.total.usd)} in all`, items: all.map((one) => ({ name: one.name, parts: [one.usd] })), series: ["cost"], format: money, nameOf: shortDay }),
    tokens: () => columns({ label: `Tokens for each day: ${count(usage.total.tokens)} in all`, items: all.map((one) => ({ name: one.name, parts: [one.tokens - one.output_tokens, one.output_tokens] })), series: ["in", "out"], format: compact, nameOf: shortDay }),
    calls: () => columns({ label: `Calls for each day: ${count(usage.total.calls)} in all`, items: all.map((one) => ({ name: one.name, parts: [one.calls] })), series: ["calls"], format: compact, nameOf: shortDay }),
  };
  const names = [isPriced && ["cost", "Cost"], ["tokens", "Tokens"], ["calls", "Calls"]].filter(Boolean);
  const buttons = names.map(([key, text]) => h("button", { type: "button", class: "filter", dataset: { key }, onclick: () => show(key) }, text));
  const show = (key) => {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.key === key));
    replace(place, plots[key]());
  };
  show(names[0][0]);
  const used = usage.days.toReversed();
  const listed = table({ label: "Usage for each day", rows: used, columns: [{ title: "Day", cell: (one) => one.name }, ...figures(isPriced)] });
  return section("Day by day", {}, h("div", { class: "card" }, h("div", { class: "filters", role: "group", "aria-label": "What is drawn" }, buttons), place), h("div", { class: "plot-table" }, fold("As a table", listed)));
}

const shortDay = (one) => new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(`${one.name}T00:00:00Z`));

// Every day of the range, also those on which nothing was used.
function fill({ since, until, days }) {
  const known = new Map(days.map((one) => [one.name, one]));
  const all = [];
  for (let at = Date.parse(since); at <= Date.parse(until); at += DAY_MS) {
    const name = new Date(at).toISOString().slice(0, 10);
    all.push(known.get(name) ?? { name, calls: 0, input_tokens: 0, output_tokens: 0, tokens: 0, usd: 0 });
  }
  return all;
}

function figures(isPriced) {
  return [
    { title: "Calls", class: "number", cell: (one) => count(one.calls) },
    { title: "Tokens in", class: "number", cell: (one) => count(one.input_tokens) },
    { title: "Tokens out", class: "number", cell: (one) => count(one.output_tokens) },
    isPriced && { title: "Cost", class: "number", cell: (one) => (one.calls && one.unpriced === one.calls ? "–" : money(one.usd)) },
  ].filter(Boolean);
}

// Names with a bar: of what they cost, or without prices of their tokens.
function ranked(label, first, rows, isPriced, open = null) {
  const weigh = (one) => (isPriced ? one.usd : one.tokens);
  const all = rows.reduce((sum, one) => sum + weigh(one), 0) || 1;
  const share = { title: isPriced ? "Share of cost" : "Share of tokens", class: "share", cell: (one) => cellBar(weigh(one) / all) };
  return table({ label, rows, open, columns: [{ title: first, class: "wide", cell: (one) => one.name }, share, ...figures(isPriced)] });
}

function modelSection(models, isPriced) {
  return section("Models", {}, models.length ? ranked("Usage of models", "Model", models, isPriced) : nothing("Which models were asked was not counted then."));
}

function sessionSection(sessions, isPriced) {
  if (sessions.length === 0) return null;
  return section("Sessions", { sub: "those that took most" }, ranked("Usage of sessions", "Session", sessions, isPriced, (one) => href(`/sessions/${encodeURIComponent(one.name)}`)));
}

function skillSection(skills) {
  const used = skills.filter((one) => one.loaded || one.offered);
  if (used.length === 0) return section("Skills", {}, nothing("No skill was offered to a model yet."));
  const all = used.reduce((sum, one) => sum + one.loaded, 0) || 1;
  return section(
    "Skills",
    { sub: "since counting began; a turn counts when it came to its end" },
    table({
      label: "How skills are used",
      rows: used,
      open: (one) => (one.here ? href(`/skills/${encodeURIComponent(one.name)}`) : null),
      columns: [
        { title: "Skill", class: "wide", cell: (one) => (one.here ? one.name : [one.name, h("span", { class: "under" }, "not here any more")]) },
        { title: "Share of loads", class: "share", cell: (one) => cellBar(one.loaded / all) },
        { title: "Loaded", class: "number", cell: (one) => count(one.loaded) },
        { title: "Offered", class: "number", cell: (one) => count(one.offered) },
        { title: "Score of its turns", class: "number", cell: (one) => (one.loaded ? `${Math.round(one.score * 100)} %` : "") },
        { title: "Last", class: "nowrap", cell: (one) => one.last_loaded.slice(0, 10) || "never" },
      ],
    }),
  );
}
