// What the words about a skill mean, and how they look.

import { request } from "./connection.js";
import { h } from "./dom.js";
import { chip } from "./parts.js";
import { placeLink } from "./sources.js";

export const STATES = {
  ready: { tone: "good", means: "The model and people can use it." },
  manual: { tone: "info", means: "People can start it; the model is not told of it." },
  untrusted: { tone: "warn", means: "It came from somebody else, and nobody approved it as it is now." },
  ineligible: { tone: "note", means: "Something it needs is missing on this machine." },
  blocked: { tone: "bad", means: "The scanner found something: it cannot be used." },
  broken: { tone: "bad", means: "It cannot be read." },
  disabled: { tone: "off", means: "It was switched off in the config." },
  shadowed: { tone: "off", means: "Another skill of the same name comes first." },
};

const VERDICTS = { clean: "good", suspicious: "warn", malicious: "bad" };
const SEVERITIES = { critical: "bad", high: "bad", medium: "warn", low: "note", info: "off", error: "bad", warning: "warn", note: "info" };

export const stateChip = (state) => chip(state, STATES[state]?.tone, STATES[state]?.means);
export const verdictChip = (verdict) => chip(verdict, VERDICTS[verdict]);
export const severityChip = (severity) => chip(severity, SEVERITIES[severity]);

export function isUsable(state) {
  return state === "ready" || state === "manual";
}

// Its picture, if that is one: words in its place could be taken for ours.
export function emojiOf(skill) {
  return /^\p{RGI_Emoji}$/v.test(skill.emoji ?? "") && h("span", { class: "emoji", "aria-hidden": "true" }, `${skill.emoji} `);
}

// How a skill is asked for: its name means the one that can be used, so any other needs its scope too.
export function referTo(skill) {
  return ["ready", "manual", "ineligible"].includes(skill.state) ? skill.name : `${skill.scope}:${skill.name}`;
}

// files and folder: the fileList of the page, and where its files are.
export function problemNode(problem, { lead = null, files = null, folder = "" } = {}) {
  const place = problem.path ? `${problem.path}${problem.line ? `:${problem.line}` : ""}` : "";
  return h(
    "li",
    { class: "problem-row" },
    lead ?? severityChip(problem.severity),
    h(
      "div",
      {},
      h("p", {}, problem.message),
      problem.hint && h("p", { class: "quiet" }, problem.hint),
      h("p", { class: "quiet mono" }, problem.code, place && [" · ", placeLink(problem.path.replace(folder, ""), problem.line, files, place)]),
    ),
  );
}

const AT_A_TIME = 2;
const known = new Map(); // digest -> verdict
const wanted = new Map(); // digest -> skill
let working = 0;

// The verdict on a skill as far as it was asked for; undefined until then.
export const verdictOf = (skill) => (skill.digest ? known.get(skill.digest) : null);

// Ask what the scanner says of these, a few at a time; onKnown() when there is something new. Older wishes are dropped.
export function wantVerdicts(skills, onKnown) {
  wanted.clear();
  for (const one of skills) if (one.digest && !known.has(one.digest)) wanted.set(one.digest, one);
  while (working < AT_A_TIME && wanted.size) work(onKnown);
}

async function work(onKnown) {
  working += 1;
  try {
    for (let next = take(); next; next = take()) {
      known.set(next.digest, null);
      const answer = await request("scan_skill", { name: referTo(next) }).catch((error) => console.warn(error.message));
      if (answer) known.set(next.digest, answer.verdict);
      else known.delete(next.digest); // asked again when it is seen again
      onKnown(next);
    }
  } finally {
    working -= 1;
  }
}

function take() {
  const [digest, skill] = wanted.entries().next().value ?? [];
  wanted.delete(digest);
  return skill;
}
