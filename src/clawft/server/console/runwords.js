// What the words about background runs mean, how they look, and what can be done with one.

import { request } from "./connection.js";
import { confirm } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, firstLine } from "./format.js";
import { may } from "./me.js";
import { chip, code } from "./parts.js";
import { TAKEN_BACK } from "./questioncard.js";
import { toast, toastError } from "./toasts.js";

export const STATUSES = {
  running: { tone: "info", means: "A worker does it now." },
  waiting: { tone: "warn", means: "It waits for an answer." },
  queued: { tone: "note", means: "It waits for a worker." },
  done: { tone: "good", means: "It came to its end." },
  failed: { tone: "bad", means: "It came to nothing; it can be tried again." },
  cancelled: { tone: "off", means: "Somebody ended it; it can go on." },
};

const ANSWERS = {
  once: ["Allow once", "primary"],
  session: ["For the rest of this run", null],
  always: ["Always in this project", null],
  again: ["Do it again", "primary"],
  done: ["Take it as done", null],
  skip: ["Skip it", null],
  no: ["No", "danger"],
};

export const isOpen = (run) => ["queued", "running", "waiting"].includes(run.status);

// One that has a question waits for its answer, also before its worker says so.
export const stateOf = (run) => (run.status === "running" && run.questions.length ? "waiting" : run.status);

export function statusChip(run) {
  const state = stateOf(run);
  return run.cancelling ? chip("ending", "warn", "Its worker ends it.") : chip(state, STATUSES[state]?.tone, STATUSES[state]?.means);
}

// What a run waits for, with the answers there are. onDone(run) with the run as it is then.
export function runQuestion(run, question, { title = null, onDone }) {
  const buttons = question.choices.map((key) => {
    const [text, kind] = ANSWERS[key] ?? [key, null];
    return h("button", { type: "button", class: kind, disabled: !may("approve"), title: key === "always" ? TAKEN_BACK : null, onclick: () => decide(key) }, text);
  });
  const decide = async (answer) => {
    card.dataset.decided = answer;
    for (const one of buttons) one.disabled = true;
    try {
      const told = await request("answer_run", { run: run.id, key: question.key, answer });
      toast(answer === "no" ? "You said no" : ANSWERS[answer]?.[0] ?? "Answered", { kind: "good", detail: firstLine(question.question) });
      onDone(told.run);
    } catch (error) {
      toastError(error);
      for (const one of buttons) one.disabled = false;
    }
  };
  const card = h(
    "article",
    { class: "question card", tabindex: "-1", dataset: { question: `${run.id} ${question.key}` }, "aria-label": `Question of run ${run.id}` },
    h(
      "div",
      { class: "question-head" },
      h("strong", {}, question.tool || "A step that was in flight"),
      question.grave ? chip("asked each time", "bad") : null,
      h("span", { class: "quiet" }, title, title && " · ", ago(question.asked)),
    ),
    code(question.question),
    question.reason && h("p", { class: "quiet" }, question.reason),
    h("div", { class: "actions" }, buttons),
  );
  return card;
}

// Buttons for what can be done with a run. onDone(run) with the run as it is then.
export function runActions(run, onDone) {
  const ask = async (event, type, words) => {
    const button = event.currentTarget;
    if (type === "cancel_run" && !(await confirm({ title: "End this run?", body: "What it did so far is kept, and it can go on later.", action: "End it", danger: true }))) return;
    button.disabled = true;
    try {
      onDone((await request(type, { run: run.id })).run);
      toast(words, { kind: "good" });
    } catch (error) {
      toastError(error);
      button.disabled = false;
    }
  };
  if (isOpen(run)) return [h("button", { type: "button", class: "danger", disabled: run.cancelling, onclick: (event) => ask(event, "cancel_run", "It is being ended") }, "End it")];
  if (run.status === "failed") return [h("button", { type: "button", class: "primary", onclick: (event) => ask(event, "retry_run", "It is tried again") }, "Try again")];
  if (run.status === "cancelled") return [h("button", { type: "button", class: "primary", onclick: (event) => ask(event, "retry_run", "It goes on") }, "Go on with it")];
  return [];
}
