// Short words at the edge of the page that go away by themselves.

import { h } from "./dom.js";
import { icon } from "./icons.js";

const STAY_MS = { note: 5000, good: 4000, bad: 12000 };
const MOST = 4;
let region = null;

export function makeToasts() {
  region = h("div", { class: "toasts", role: "region", "aria-label": "Notices" });
  return region;
}

// kind: note, good or bad. `link` is an optional {href, text}.
export function toast(text, { kind = "note", detail = "", link = null } = {}) {
  const close = () => one.remove();
  const one = h(
    "div",
    { class: `toast toast-${kind}`, role: kind === "bad" ? "alert" : "status" },
    h("div", { class: "toast-text" }, h("p", {}, text), detail && h("p", { class: "quiet" }, detail)),
    link && h("a", { href: link.href, onclick: close }, link.text),
    h("button", { type: "button", class: "bare", "aria-label": "Close", onclick: close }, icon("close")),
  );
  region.append(one);
  while (region.childElementCount > MOST) region.firstElementChild.remove();
  setTimeout(close, STAY_MS[kind]);
}

export function toastError(error) {
  const problem = error.problem ?? { message: error.message, hint: "" };
  if (!error.problem) console.error(error);
  toast(problem.message, { kind: "bad", detail: problem.hint ?? "" });
}
