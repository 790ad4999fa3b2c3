// The one WebSocket to the daemon: requests with answers, streams, subscriptions, and coming back after a loss.

import { clearToken, getToken } from "./token.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15000];
const TOKEN_GONE = 4001;
const BETWEEN = new Set(["event", "question_asked", "question_closed", "install_progress"]); // come before the answer to a stream
const TOPIC_OF = {
  skills_changed: "skills",
  question_asked: "approvals",
  question_closed: "approvals",
  execution_started: "executions",
  execution_finished: "executions",
};

let socket = null;
let state = "new"; // new, connecting, open, waiting, refused
let failures = 0;
let timer = 0;
let retryAt = 0;
let lastId = 0;
const pending = new Map(); // id -> { resolve, reject, onEvent }
const unsent = new Set(); // ids that wait for the connection
const listeners = new Map(); // topic -> Set of functions
const watchers = new Set();

// What the daemon refused, or why it could not be asked. `problem` has code, message, hint, path, line.
class Problem extends Error {
  constructor(problem) {
    super(problem.message);
    this.problem = problem;
  }
}

export function connect() {
  clearTimeout(timer);
  setState("connecting");
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(`${scheme}//${location.host}/ws`, ["clawft.v1", `clawft.bearer.${getToken()}`]);
  let wasOpen = false;
  socket = mine;
  mine.addEventListener("open", () => {
    wasOpen = true;
    if (socket === mine) opened();
    else mine.close(); // another was tried meanwhile
  });
  mine.addEventListener("message", (message) => socket === mine && receive(JSON.parse(message.data)));
  mine.addEventListener("close", (event) => {
    if (socket === mine) closed(wasOpen, event);
  });
}

export function connectionState() {
  return { state, retryAt };
}

// fn({state, retryAt}) now and whenever it changes. Returns a function that ends it.
export function watchConnection(fn) {
  watchers.add(fn);
  fn(connectionState());
  return () => watchers.delete(fn);
}

// Ask for one thing: a promise of its answer. Rejects with a Problem.
export function request(type, params = {}) {
  return send(type, params, null);
}

// Ask for something that takes a while: onEvent(message) for what comes before the answer.
export function stream(type, params, onEvent) {
  return send(type, params, onEvent);
}

// Be told of `skills`, `approvals`, `executions` or `runs`: fn(message). After a loss of the connection fn gets
// {type: "reconnected"}: what happened meanwhile was not told, so read again. Returns a function that ends it.
export function subscribe(topic, fn) {
  const told = listeners.get(topic) ?? new Set();
  listeners.set(topic, told.add(fn));
  if (told.size === 1 && state === "open") post("subscribe", { topics: [topic] });
  return () => {
    told.delete(fn);
    if (told.size === 0 && listeners.delete(topic) && state === "open") post("unsubscribe", { topics: [topic] });
  };
}

function post(type, params) {
  request(type, params).catch((error) => console.warn(error.message));
}

function send(type, params, onEvent) {
  const id = String(++lastId);
  const message = JSON.stringify({ type, id, ...params });
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject, onEvent, message });
    if (state === "open") socket.send(message);
    else if (state === "refused") fail(id, "token-wrong", "The token does not count");
    else unsent.add(id);
  });
}

function opened() {
  const isAgain = failures > 0;
  failures = 0;
  setState("open");
  for (const topic of listeners.keys()) post("subscribe", { topics: [topic] });
  for (const id of unsent) socket.send(pending.get(id).message);
  unsent.clear();
  if (isAgain) for (const topic of listeners.keys()) tell(topic, { type: "reconnected" });
}

function receive(message) {
  const asked = message.id ? pending.get(message.id) : undefined;
  if (asked && BETWEEN.has(message.type)) asked.onEvent?.(message);
  else if (asked) {
    pending.delete(message.id);
    if (message.type === "error") asked.reject(new Problem(message.error));
    else asked.resolve(message);
  } else tell(TOPIC_OF[message.type] ?? "runs", message);
}

function tell(topic, message) {
  for (const fn of [...(listeners.get(topic) ?? [])]) fn(message);
}

async function closed(wasOpen, event) {
  socket = null;
  for (const id of [...pending.keys()]) {
    if (!unsent.has(id)) fail(id, "connection-lost", event.reason || "The connection to the daemon was lost");
  }
  if (event.code === TOKEN_GONE || (!wasOpen && (await isRefused()))) {
    refuse();
    return;
  }
  const pause = PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)];
  failures += 1;
  retryAt = Date.now() + pause;
  setState("waiting");
  timer = setTimeout(connect, pause);
}

function refuse() {
  clearToken();
  for (const id of [...pending.keys()]) fail(id, "token-wrong", "The token does not count");
  unsent.clear();
  setState("refused");
}

// A browser does not tell why a WebSocket was refused; plain HTTP does.
async function isRefused() {
  try {
    const answer = await fetch("/api/v1/status", { headers: { Authorization: `Bearer ${getToken()}` } });
    return answer.status === 401;
  } catch {
    return false;
  }
}

function fail(id, code, message) {
  const asked = pending.get(id);
  pending.delete(id);
  asked?.reject(new Problem({ code, severity: "error", message, hint: null, path: "", line: null }));
}

function setState(now) {
  state = now;
  for (const fn of watchers) fn(connectionState());
}
