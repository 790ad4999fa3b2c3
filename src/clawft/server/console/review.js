// What a person is to see before they approve a stranger's skill.

import { h } from "./dom.js";
import { when } from "./format.js";
import { chip, code, fold, section } from "./parts.js";
import { powerLines } from "./scanned.js";

export function reviewSection(review) {
  if (review instanceof Error) {
    const problem = review.problem ?? { message: review.message };
    return section("Review", {}, h("p", { class: "notice" }, problem.message, problem.hint && ` ${problem.hint}`));
  }
  const before = review.previous;
  return section(
    "Review",
    { sub: before ? `approved ${when(before.at)}, as it was then` : "never approved before" },
    h(
      "div",
      { class: "stack review" },
      before ? changedPart(review) : h("p", {}, "Read what it says, each of its files, and what it could do. An approval holds for exactly these files."),
      review.hooks.length ? h("div", { class: "card" }, h("h3", {}, "Hooks it brings"), review.hooks.map(hook)) : null,
      h("p", { class: "quiet mono digest" }, `Digest ${review.digest}`),
    ),
  );
}

function changedPart(review) {
  const { power_change: change, files } = review;
  const more = change && powerLines(change.added);
  const less = change && powerLines(change.removed);
  return [
    more && h("div", {}, h("h3", {}, "It could do more than before"), more),
    less && h("div", {}, h("h3", {}, "It could do less in this"), less),
    !more && !less && h("p", {}, "It could do what it could before; its files are others."),
    files === null ? h("p", { class: "notice" }, "What it was then was not kept, so the changes cannot be shown: read all of it.") : files.map(fileChange),
  ];
}

const TONES = { added: "good", removed: "bad", deleted: "bad" };

function fileChange(file) {
  const lines = file.diff.map((line, index) => {
    const isPlace = index < 2 || line.startsWith("@@"); // the first two name the files
    const kind = isPlace ? "at" : { "+": "plus", "-": "minus" }[line[0]];
    return h("span", { class: kind && `diff-${kind}` }, line.endsWith("\n") ? line : `${line}\n`);
  });
  const title = [chip(file.what, TONES[file.what] ?? "info"), h("span", { class: "mono" }, file.path)];
  const body = lines.length ? h("pre", { class: "code diff", tabindex: "0" }, lines) : h("p", { class: "quiet" }, "Not text, or too long to compare.");
  const one = fold(title, body);
  one.open = lines.length > 0 && lines.length < 200;
  return one;
}

function hook(one) {
  const what = one.kind === "command" ? one.command : `${one.name} (${one.path})`;
  return h("div", { class: "hook" }, h("p", {}, one.events.join(", ") || "no event", one.matcher && ` on ${one.matcher}`, one.problem && `: ${one.problem}`), code(what));
}
