// The questions of tools that wait for an answer, of work here and of background runs: one list for the badge, the
// page of approvals and running skills.

import { request, subscribe } from "./connection.js";
import { firstLine } from "./format.js";
import { may } from "./me.js";
import { setBadge } from "./shell.js";
import { toast, toastError } from "./toasts.js";

const waiting = new Map(); // id -> question
const runs = new Map(); // id -> background run that waits
const watchers = new Set();

export function startQuestions() {
  subscribe("approvals", (message) => {
    if (message.type === "reconnected") read();
    else note(message);
  });
  read();
  if (!may("admin")) return;
  subscribe("runs", (message) => {
    if (message.type === "reconnected") readRuns();
    else if (message.type === "runs_changed") noteRuns(message.runs);
  });
  readRuns();
}

export function waitingQuestions() {
  return [...waiting.values()];
}

export function waitingRuns() {
  return [...runs.values()];
}

// Runs as they are now; those that wait no more are forgotten.
export function noteRuns(now) {
  const before = runs.size;
  for (const run of now) {
    runs.delete(run.id);
    if (run.questions.length) runs.set(run.id, run);
  }
  if (before || runs.size) changed();
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
    if (!isFollowed()) toast(verdict === "no" ? "You said no" : "You allowed it", { kind: verdict === "no" ? "note" : "good", detail: firstLine(question.text) });
  } catch (error) {
    if (error.problem?.code === "question-not-found") waiting.delete(question.question);
    toastError(error);
  }
  changed();
}

// Where the work is watched, the answer stands in it.
const isFollowed = () => location.hash.startsWith("#/run/") || /^#\/run(\?|$)/.test(location.hash);

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

async function readRuns() {
  try {
    const answer = await request("list_runs", { statuses: ["waiting"], limit: 100 });
    runs.clear();
    noteRuns(answer.runs);
  } catch (error) {
    console.warn(error.message); // the page of runs says why
  }
}

function changed() {
  const asked = waitingRuns().reduce((sum, run) => sum + run.questions.length, 0);
  setBadge("/approvals", waiting.size + asked);
  for (const fn of watchers) fn();
}
