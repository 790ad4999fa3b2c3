// Decisions about a skill: each asks once, and says what it means.

import { request } from "./connection.js";
import { confirm } from "./dialogs.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { powerLines } from "./scanned.js";
import { isUsable, referTo } from "./skillwords.js";
import { toastError } from "./toasts.js";

export function decisionButtons(skill, review, again) {
  const one = skill.summary;
  const can = {
    approve: one.state === "untrusted" && review && !(review instanceof Error),
    enable: !skill.enabled,
    revoke: skill.strange && skill.enabled && (isUsable(one.state) || one.state === "ineligible"),
    block: skill.enabled && !["shadowed", "broken", "blocked"].includes(one.state), // the last is used by nobody anyway
  };
  const make = (kind, text, attrs, ask, params = {}) =>
    can[kind] && h("button", { type: "button", dataset: { decision: kind }, onclick: () => decide(kind, ask(skill, review), { name: referTo(one), ...params }, again), ...attrs }, attrs.icon && icon(attrs.icon), text);
  return [
    make("approve", "Approve", { class: "primary" }, askApprove, { digest: review?.digest }),
    make("enable", "Switch on", {}, askEnable),
    make("revoke", "Revoke approval", {}, askRevoke),
    make("block", "Switch off", { class: "danger" }, askBlock),
  ];
}

async function decide(kind, question, params, again) {
  if (!(await confirm(question))) return;
  try {
    await request(`${kind}_skill`, params); // what comes of it is told as any change is
  } catch (error) {
    toastError(error);
  }
  await again();
  document.querySelector("main").focus({ preventScroll: true }); // the buttons are others now
}

function askApprove(skill, review) {
  const name = skill.summary.name;
  const power = powerLines(review.power, review.undeclared);
  return {
    title: `Approve ${name}?`,
    action: "Approve",
    body: [
      h("p", {}, "The model and people can use it from now on, with the tools and rules of your config. If one of its files changes, it waits for an approval again."),
      power && [h("p", {}, "When all it holds ran, it would use:"), power],
      review.verdict !== "clean" && h("p", { class: "notice" }, `The scanner calls it ${review.verdict}.`),
      h("p", { class: "quiet mono digest" }, review.digest),
    ],
  };
}

function askEnable(skill) {
  const stranger = skill.strange ? " It came from somebody else: it still needs its approval." : "";
  const bad = skill.scan.verdict === "malicious" ? " The scanner calls it malicious: it stays blocked." : "";
  return { title: `Switch ${skill.summary.name} on?`, action: "Switch on", body: [h("p", {}, `${written(skill, true)}${stranger}${bad}`)] };
}

function askRevoke(skill) {
  return {
    title: `Revoke the approval of ${skill.summary.name}?`, action: "Revoke", danger: true,
    body: h("p", {}, "Nobody can use it until somebody looks at it and approves it again."),
  };
}

function askBlock(skill) {
  const { name, state } = skill.summary;
  const approval = skill.strange && state !== "untrusted" ? " Its approval is taken back, too." : "";
  return {
    title: `Switch ${name} off?`, action: "Switch off", danger: true,
    body: [
      h("p", {}, `${written(skill, false)} Nobody can use a skill of this name then, in any of your projects.${approval}`),
      h("p", { class: "quiet" }, "Its files stay where they are. “Switch on” takes this back."),
    ],
  };
}

const written = (skill, isOn) => `skills.entries.${skill.summary.name}.enabled becomes ${isOn} in your own config (~/.clawft/config.toml).`;
