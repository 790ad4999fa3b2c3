// What stands where there is nothing to show: yet, at all, or because something went wrong.

import { h } from "./dom.js";
import { icon } from "./icons.js";

export function loading(what = "Loading") {
  return h("div", { class: "state state-loading", role: "status" }, h("span", { class: "spinner" }), what, "…");
}

// empty("No sessions yet", "They appear here as soon as somebody talks to the agent.", button)
export function empty(title, text = "", ...actions) {
  return h("div", { class: "state" }, h("p", { class: "state-title" }, title), text && h("p", {}, text), actions);
}

// One line, for a part of a page.
export function nothing(text) {
  return h("p", { class: "state-small" }, text);
}

export function failed(error, again = null) {
  const problem = error.problem ?? { code: "console-error", message: error.message, hint: "" };
  return h(
    "div",
    { class: "state state-failed", role: "alert" },
    icon("warning"),
    h("p", { class: "state-title" }, problem.message),
    problem.hint && h("p", {}, problem.hint),
    h("p", { class: "quiet mono" }, problem.code),
    again && h("button", { type: "button", onclick: again }, "Try again"),
  );
}
