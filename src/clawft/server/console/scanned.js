// What the scanner says of a skill: findings with the lines that caused them, and what the skill could do.

import { h } from "./dom.js";
import { plural } from "./format.js";
import { code, fold, section } from "./parts.js";
import { severityChip, verdictChip } from "./skillwords.js";
import { placeLink } from "./sources.js";

const POWERS = {
  network: "Reaches", exec: "Runs", files: "Touches", env: "Reads variables", persistence: "Stays behind", hooks: "Hooks into", tools: "Uses tools",
};

// files: the fileList that a place leads to.
export function findingsSection(scan, files = null) {
  const { findings, gaps, overrides } = scan;
  const sure = findings.length ? `sure to ${Math.round(scan.confidence * 100)} %` : "";
  return section(
    "What the scanner says",
    { sub: [verdictChip(scan.verdict), " ", [findings.length ? plural(findings.length, "finding") : "no findings", sure].filter(Boolean).join(", ")] },
    h(
      "div",
      { class: "stack" },
      scan.failed ? h("p", { class: "notice" }, "The scanner gave up on a part of it: nothing is known of that part.") : null,
      findings.map((one) => finding(one, files)),
      overrides.map((one) => h("p", { class: "notice" }, `${one.rule} is excused by ${one.by || "somebody"}: ${one.because}`)),
      gaps.length ? fold(`${plural(gaps.length, "part")} not looked at`, gaps.map((gap) => h("p", {}, h("span", { class: "mono" }, gap.path), ` · ${gap.reason}`))) : null,
    ),
  );
}

function finding(one, files) {
  const lines = one.end_line > one.line ? `${one.line}–${one.end_line}` : one.line;
  return h(
    "article",
    { class: `card finding finding-${one.severity}` },
    h("div", { class: "finding-head" }, severityChip(one.severity), h("strong", {}, one.message)),
    h("p", { class: "mono quiet" }, placeLink(one.path, one.line, files, `${one.path}:${lines}`), one.origin.length ? ` (inside ${one.origin.join(", ")})` : "", ` · ${one.rule}`),
    one.evidence && code(one.evidence),
    h("p", {}, one.why),
    one.fix && h("p", { class: "quiet" }, h("strong", {}, "Fix: "), one.fix),
  );
}

// What it would use when all it holds ran; what it does not say itself is marked.
export function powerSection(power, undeclared) {
  const parts = powerLines(power, undeclared);
  return section("What it could do", {}, parts ?? h("p", { class: "quiet" }, "Nothing beyond the tools it is given."));
}

export function powerLines(power, undeclared = {}, mark = "not declared") {
  const given = Object.entries(POWERS).filter(([name]) => power[name]?.length);
  if (given.length === 0) return null;
  const lines = given.map(([name, words]) => {
    const hidden = new Set(undeclared[name] ?? []);
    const values = power[name].map((one) =>
      h("span", { class: hidden.has(one) ? "tag tag-hidden" : "tag" }, one, hidden.has(one) && h("span", { class: "tag-mark" }, ` ${mark}`)),
    );
    return h("div", {}, h("dt", {}, words), h("dd", { class: "tags" }, values));
  });
  return h("dl", { class: "card powers" }, lines);
}
