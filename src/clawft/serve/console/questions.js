// The questions of tools that wait for an answer: one list for the badge, the page of approvals and running skills.

import { request, subscribe } from "./connection.js";
import { setBadge } from "./shell.js";
import { toast, toastError } from "./toasts.js";

const waiting = new Map(); // id -> question
const watchers = new Set();

export function startQuestions() {
  subscribe("approvals", (message) => {
    if (message.type === "reconnected") read();
    else note(message);
  });
  read();
}

export function waitingQuestions() {
  return [...waiting.values()];
}

// fn() whenever a question comes or goes. Returns a function that ends it.
export function watchQuestions(fn) {
  watchers.add(fn);
  return () => watchers.delete(fn);
}

// What came about questions, by the subscription or along with the events of one's own work.
export function note(message) {
  if (message.type === "question_asked") waiting.set(message.question.question, message.question);
  else if (message.type === "question_closed") waiting.delete(message.question);
  else return;
  changed();
}

export async function answer(question, verdict) {
  try {
    await request("answer_question", { question: question.question, answer: verdict });
    waiting.delete(question.question);
    toast(verdict === "no" ? `Refused: ${question.tool}` : `Allowed: ${question.tool}`, { kind: verdict === "no" ? "note" : "good" });
  } catch (error) {
    if (error.problem?.code === "question-not-found") waiting.delete(question.question);
    toastError(error);
  }
  changed();
}

async function read() {
  try {
    const { questions } = await request("list_questions");
    waiting.clear();
    for (const one of questions) waiting.set(one.question, one);
    changed();
  } catch (error) {
    toastError(error);
  }
}

function changed() {
  setBadge("/approvals", waiting.size);
  for (const fn of watchers) fn();
}
