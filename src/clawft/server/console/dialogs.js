// Questions to the person at the page, in a native dialog: Esc is a no, the focus stays inside.

import { append, h } from "./dom.js";

// confirm({title, body, action: "Approve", danger: false}) -> promise of true or false. `body` is text or nodes.
export function confirm({ title, body, action, danger = false }) {
  return new Promise((resolve) => {
    const dialog = openDialog(title, body, [
      h("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel"),
      h(
        "button",
        { type: "button", class: danger ? "danger" : "primary", autofocus: true, onclick: () => dialog.close("yes") },
        action,
      ),
    ]);
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

// Show something until it is closed.
export function inform(title, body) {
  const dialog = openDialog(title, body, [
    h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close"),
  ]);
  return dialog;
}

const REST_MS = 500;

// What just came or moved takes no click yet: nobody is to allow what slid under their pointer.
export function rest(element) {
  element.classList.add("resting");
  clearTimeout(resting.get(element));
  resting.set(element, setTimeout(() => element.classList.remove("resting"), REST_MS));
}

const resting = new WeakMap();

function openDialog(title, body, buttons) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const content = append(h("div", { class: "dialog-body" }), body);
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h("div", { class: "dialog-in" }, heading, content, h("div", { class: "dialog-buttons" }, buttons)),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close("no"); // beside it
  });
  dialog.addEventListener("keydown", (event) => event.repeat && event.preventDefault()); // the key that opened it
  dialog.addEventListener("close", () => dialog.remove());
  rest(dialog);
  document.body.append(dialog);
  dialog.showModal();
  dialog.scrollTop = 0; // a long one is read from its beginning, not from its buttons
  return dialog;
}
