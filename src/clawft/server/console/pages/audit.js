// The audit log: every approval, denial, command, address and use of a secret, and whether that record is whole.

import { request } from "../connection.js";
import { h, replace } from "../dom.js";
import { plural, when } from "../format.js";
import { chip, code, facts, head, searchField, select, table } from "../parts.js";
import { inform } from "../dialogs.js";
import { href, remember } from "../router.js";
import { empty, failed, loading } from "../states.js";

export const title = "Audit log";
export const path = "/audit";

const KINDS = ["approval", "audit", "command", "denial", "file", "hook", "hub", "install", "mode", "plugin", "publish", "publisher", "secret", "serve", "setting", "skill", "tool", "url"];
const DECISIONS = { allowed: "good", granted: "good", done: "good", loaded: "good", used: "note", asked: "info", finished: "info", withdrawn: "warn", denied: "bad", failed: "bad", revoked: "warn", broken: "bad", torn: "warn", lost: "warn" };

export function render(view, params) {
  const chosen = { text: params.q ?? "", kind: params.kind ?? "", decision: params.decision ?? "", skill: params.skill ?? "" };
  const place = h("div", {}, loading());
  const whole = h("p", { class: "audit-whole", role: "status" }, h("span", { class: "spinner" }), "Checking every line…");
  let asked = 0;

  async function show() {
    const mine = ++asked;
    try {
      const answer = await page(chosen, 0);
      if (mine === asked && !view.isLeft) replace(place, listOf(answer, chosen));
    } catch (error) {
      if (mine === asked) replace(place, failed(error, show));
    }
  }

  function choose(now) {
    Object.assign(chosen, now);
    remember(path, { q: chosen.text, kind: chosen.kind, decision: chosen.decision, skill: chosen.skill });
    show();
  }

  const any = (words, options) => [["", words], ...options.map((one) => [one, one])];
  view.show(
    head(title, { sub: "What was decided and done, by whom and for which skill. The newest come first." }),
    whole,
    h(
      "div",
      { class: "bar" },
      searchField({ label: "Find in the log", value: chosen.text, rest_ms: 250, onInput: (text) => choose({ text }) }),
      select({ label: "Kind", value: chosen.kind, options: any("Every kind", KINDS), onChange: (kind) => choose({ kind }) }),
      select({ label: "Decision", value: chosen.decision, options: any("Every decision", Object.keys(DECISIONS)), onChange: (decision) => choose({ decision }) }),
      chosen.skill && h("button", { type: "button", class: "filter", "aria-pressed": "true", onclick: (event) => (event.currentTarget.remove(), choose({ skill: "" })) }, `skill ${chosen.skill} ✕`),
    ),
    place,
  );
  verify(whole);
  return show();
}

async function verify(place) {
  try {
    const verdict = await request("verify_audit");
    const since = verdict.since ? ` since ${when(verdict.since)}` : "";
    const broken = verdict.broken;
    if (!broken) replace(place, chip("whole", "good"), verdict.lines ? `${plural(verdict.lines, "line")}${since}: none was changed, removed or added.` : "The log is empty.");
    else replace(place, chip("broken", "bad"), `${broken.reason} (${broken.path}${broken.line ? `:${broken.line}` : ""}). ${plural(verdict.lines, "line")} before that hold.`);
  } catch (error) {
    replace(place, chip("not checked", "warn"), error.message);
  }
}

const page = (chosen, before) => request("list_audit", { ...chosen, text: chosen.text.trim(), before, limit: 100 });

function listOf(answer, chosen) {
  const next = (before) => before && (async () => {
    const more = await page(chosen, before);
    return { rows: asOne(more.lines), next: next(more.next) || null };
  });
  const isFiltered = Object.values(chosen).some(Boolean);
  const none = isFiltered && answer.next === 0
    ? empty("No such line", "Try other words, or another kind.")
    : empty("Nothing yet", "Every decision is written down here, as soon as there is one.");
  const unreadable = answer.unreadable ? h("p", { class: "notice" }, `${plural(answer.unreadable, "line")} cannot be read.`) : null;
  return [unreadable, table({ label: title, rows: asOne(answer.lines), none, next: next(answer.next) || null, columns: COLUMNS })];
}

const TOGETHER = 12; // lines between two of the same call

// All that the log says of one call is one row: the newest line, with those before it in it.
function asOne(lines) {
  const rows = [];
  for (const line of lines) {
    const call = line.detail.call;
    const row = call && rows.slice(-TOGETHER).find((one) => one.detail.call === call && one.session === line.session);
    if (row) row.before.push(line);
    else rows.push({ ...line, before: [] });
  }
  return rows;
}

const answer = (one) => [one, ...(one.before ?? [])].find((line) => line.kind === "approval" && line.decision !== "asked");
const who = (one) => answer(one)?.detail.by ?? one.detail.by ?? one.session;
const decision = (one) => (one.decision === "finished" && one.detail.status ? `finished: ${one.detail.status}` : one.decision);

function under(one) {
  const answered = answer(one);
  return answered && answered !== one ? `${answered.decision} by ${answered.rule}` : one.rule || one.before?.find((line) => line.rule)?.rule;
}

const COLUMNS = [
  { title: "When", class: "nowrap", cell: (one) => h("time", { datetime: one.at, title: one.at }, when(one.at)) },
  { title: "Kind", cell: (one) => one.kind },
  { title: "Decision", cell: (one) => chip(decision(one), one.detail.status === "error" ? "bad" : (DECISIONS[one.decision] ?? "off")) },
  { title: "What", class: "wide", cell: (one) => [h("button", { type: "button", class: "as-text", "data-row": "", onclick: () => inform(`Line ${one.seq}`, detail(one)) }, one.subject), under(one) && h("span", { class: "under" }, under(one))] },
  { title: "Skill", cell: (one) => one.skill },
  { title: "By", cell: who },
];

function detail(one) {
  return [
    facts([
      ["When", when(one.at)],
      ["Kind", one.kind],
      ["Decision", decision(one)],
      ["Rule", one.rule],
      ["Skill", one.skill],
      ["Digest", one.digest && h("span", { class: "mono" }, one.digest)],
      ["Session", one.session && h("a", { href: href(`/sessions/${encodeURIComponent(one.session)}`), onclick: (event) => event.target.closest("dialog").close() }, one.session)],
    ]),
    code(one.subject),
    Object.keys(one.detail).length ? code(JSON.stringify(one.detail, null, 2)) : null,
    h("p", { class: "quiet mono digest" }, `Hash ${one.hash}`),
    one.before?.length ? [h("h3", {}, "The lines before it, of the same call"), table({ label: "Lines of the same call", rows: one.before, columns: COLUMNS.filter((column) => column.title !== "Skill") })] : null,
  ];
}
