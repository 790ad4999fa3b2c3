// Parts that pages share: their head, chips, fields of facts, search fields, tables, code, folds.

import { append, h } from "./dom.js";
import { count } from "./format.js";
import { icon } from "./icons.js";
import { walkRows } from "./keys.js";
import { empty } from "./states.js";
import { toastError } from "./toasts.js";

// head("Skills", {sub: "what it is", back: {href, text}, actions: [buttons]}): every page has one, with its only h1.
export function head(title, { sub = "", back = null, actions = [] } = {}) {
  return h(
    "header",
    { class: "head" },
    back && h("a", { class: "back", href: back.href }, icon("back"), back.text),
    h("div", { class: "head-row" }, h("h1", {}, title), actions.length ? h("div", { class: "actions" }, actions) : null),
    sub && append(h("p", { class: "sub" }), sub),
  );
}

// section("Files", {sub, id}, ...nodes)
export function section(title, { sub = "", id = null, actions = [] } = {}, ...nodes) {
  return h(
    "section",
    { class: "section", id },
    h("div", { class: "section-row" }, h("h2", {}, title), sub && h("span", { class: "quiet" }, sub), actions),
    nodes,
  );
}

// A short word with a colour that only repeats what the word says. tone: good, info, warn, bad, off, note
export function chip(text, tone = "off", title = null) {
  return h("span", { class: `chip chip-${tone}`, title }, text);
}

// facts([["Model", node], …]): values that are null, undefined or "" are left out.
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return h("dl", { class: "facts" }, given.map(([name, value]) => h("div", {}, h("dt", {}, name), append(h("dd", {}), value))));
}

// numbers([["Skills", 12], …]): a few large figures.
export function numbers(pairs) {
  return h("dl", { class: "numbers" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// A search field that "/" finds. onInput(text) after a short rest.
export function searchField({ label, value = "", placeholder = label, onInput, rest_ms = 120 }) {
  let timer = 0;
  const input = h("input", {
    type: "search", "aria-label": label, placeholder, value, autocomplete: "off", spellcheck: "false",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => onInput(input.value), rest_ms);
    },
  });
  return h("div", { class: "search" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/"));
}

export function select({ label, value, options, onChange }) {
  const choices = options.map(([key, text]) => h("option", { value: key, selected: key === value }, text));
  return h("select", { "aria-label": label, onchange: (event) => onChange(event.target.value) }, choices);
}

// Text as it stands in a file or came from a tool.
export function code(text, attrs = {}) {
  return h("pre", { tabindex: "0", ...attrs, class: `code ${attrs.class ?? ""}` }, h("code", {}, text));
}

export function fold(title, ...nodes) {
  return h("details", { class: "fold" }, h("summary", {}, title), h("div", { class: "fold-in" }, nodes));
}

const PAGE = 100;

// table({label, columns: [{title, cell: row => node or text, class}], rows, open: row => href or null, none, next})
// Shows the first hundred rows, and more when asked. `next` brings rows that are not here yet, where there are any:
// a function that gives a promise of {rows, next}. `memory`, an object, keeps how many are shown when a table is made anew.
export function table({ label, columns, rows, open = null, none = empty("Nothing here"), next = null, memory = {} }) {
  if (rows.length === 0 && !next) return none;
  const body = h("tbody", {});
  const more = h("button", { type: "button", class: "more", onclick: () => grow() });
  let shown = 0;
  let hasBegun = false;
  const grow = async () => {
    if (hasBegun && shown >= rows.length && next) {
      more.disabled = true;
      const came = await next().catch(toastError);
      more.disabled = false;
      if (!came) return;
      rows = [...rows, ...came.rows];
      next = came.next;
    }
    hasBegun = true;
    const page = rows.slice(shown, Math.max(shown + PAGE, memory.shown ?? 0));
    shown += page.length;
    memory.shown = shown > PAGE && shown === rows.length ? Infinity : shown;
    append(body, page.map((row) => tableRow(columns, row, open)));
    more.textContent = shown < rows.length ? `Show more (${count(rows.length - shown)} left)` : "Show more";
    more.hidden = shown >= rows.length && !next;
  };
  grow();
  walkRows(body);
  const titles = columns.map((one) => h("th", { scope: "col", class: one.class }, one.title));
  const whole = h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, titles)), body);
  return h("div", { class: "table" }, h("div", { class: "table-in", tabindex: "0", role: "region", "aria-label": label }, whole), more);
}

// The first cell of a row holds the link, which arrows walk along; a click anywhere in the row follows it.
function tableRow(columns, row, open) {
  const to = open?.(row) ?? null;
  const cells = columns.map((column, index) => {
    const content = column.cell(row);
    const inner = to && index === 0 ? append(h("a", { href: to, "data-row": "" }), content) : content;
    return append(h("td", { class: column.class, "data-title": column.title }), inner);
  });
  const follow = (event) => {
    if (!event.target.closest("a, button, input, select, summary") && !getSelection().toString()) location.hash = to;
  };
  return h("tr", { class: to ? "opens" : null, onclick: to ? follow : null }, cells);
}
