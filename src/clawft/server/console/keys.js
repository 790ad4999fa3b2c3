// The keyboard: "/" searches, "g s" goes to a page, "?" tells the keys, arrows walk through lists.

import { inform } from "./dialogs.js";
import { h } from "./dom.js";
import { navigate } from "./router.js";

const TOGETHER_MS = 1500; // "g", then the letter of a page
let pages = [];
let went = 0;

export function startKeys(all) {
  pages = all.filter((page) => page.key);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") leave();
    else if (event.key === "ArrowDown" && event.target.matches?.("input[type=search]") && enterList()) event.preventDefault();
    else if (!isTyping(event.target) && press(event.key)) event.preventDefault();
  });
}

export function showKeys() {
  const known = [
    ["/", "Search this page"],
    ["↑ ↓", "Walk through a list, also from its search; Home and End jump"],
    ["Enter", "Open what is chosen"],
    ["Esc", "Leave the search, close a dialog"],
    ...pages.map((page) => [`g ${page.key}`, page.title]),
    ["?", "This list"],
  ];
  const rows = known.map(([key, text]) => [h("dt", {}, key.split(" ").map((one) => h("kbd", {}, one))), h("dd", {}, text)]);
  inform("Keys", h("dl", { class: "keys" }, rows));
}

function press(key) {
  if (went && Date.now() - went < TOGETHER_MS) {
    went = 0;
    const page = pages.find((one) => one.key === key);
    if (page) navigate(page.path);
    return Boolean(page);
  }
  if (key === "g") went = Date.now();
  else if (key === "?") showKeys();
  else if (key === "/") return focusSearch();
  else if (key === "ArrowDown" || key === "ArrowUp") return enterList();
  else return false;
  return true;
}

function focusSearch() {
  const field = document.querySelector("main input[type=search]");
  field?.focus();
  field?.select();
  return Boolean(field);
}

function leave() {
  if (isTyping(document.activeElement)) document.activeElement.blur();
}

function isTyping(element) {
  return element?.matches?.("input:not([type=checkbox], [type=radio]), textarea, select") ?? false;
}

// From anywhere else on a page into its first list.
function enterList() {
  if (document.activeElement?.closest("[data-rows]")) return false; // the list has its own
  const row = document.querySelector("main [data-rows] [data-row]");
  row?.focus();
  return Boolean(row);
}

// Up, down, Home and End among the rows of an element that are there all at once.
export function walkRows(element) {
  element.dataset.rows = "";
  element.addEventListener("keydown", (event) => {
    const rows = [...element.querySelectorAll("[data-row]")];
    const at = rows.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    rows[Math.max(0, Math.min(rows.length - 1, to))].focus();
  });
}
