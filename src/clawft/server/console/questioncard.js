// A question of a tool, with its answers.

import { rest } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, when } from "./format.js";
import { chip, code } from "./parts.js";
import { answer } from "./questions.js";

const ANSWERS = [
  ["once", "Allow once", "primary"],
  ["session", "For this session", null],
  ["always", "Always in this project", null],
  ["no", "No", "danger"],
];

export const TAKEN_BACK = "For the same question of the same skills. Taken back in a terminal: weft skills trust --list, then --revoke ID";

export function questionCard(question, { about = false } = {}) {
  const usable = ANSWERS.filter(([key]) => !question.grave || key === "once" || key === "no");
  const buttons = usable.map(([key, text, kind]) =>
    h("button", { type: "button", class: kind, title: key === "always" ? TAKEN_BACK : null, onclick: () => decide(key) }, text),
  );
  const decide = (key) => {
    card.dataset.decided = key;
    for (const one of buttons) one.disabled = true;
    answer(question, key).then(() => {
      for (const one of buttons) one.disabled = false;
    });
  };
  const card = h(
    "article",
    { class: "question card", tabindex: "-1", "aria-label": `Question of ${question.tool}` },
    h(
      "div",
      { class: "question-head" },
      h("strong", {}, question.tool),
      question.grave ? chip("asked each time", "bad") : null,
      h("span", { class: "quiet" }, about ? from(question) : ago(question.asked)),
    ),
    code(question.text),
    question.reason && h("p", { class: "quiet" }, question.reason),
    h("div", { class: "actions" }, buttons),
    question.until && h("p", { class: "quiet" }, `No answer by ${when(question.until)} is a no.`),
  );
  rest(card);
  return card;
}

function from(question) {
  const what = question.skill ? `skill ${question.skill}` : "a message";
  return `${what} · ${question.caller} · ${question.session} · ${ago(question.asked)}`;
}
