// Pages by the hash of the address: "#/skills/NAME?q=words". A page lives until the next one is shown.

import { connectionState, subscribe, watchConnection } from "./connection.js";
import { h, replace } from "./dom.js";
import { icon } from "./icons.js";
import { may } from "./me.js";
import { empty, failed, loading } from "./states.js";

let pages = [];
let main = null;
let onPage = () => {};
let current = null;

// The address of a page: href("/skills/" + encodeURIComponent(name), { q: "words" })
export function href(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const words = new URLSearchParams(given).toString();
  return `#${path}${words ? `?${words}` : ""}`;
}

export function navigate(path, query) {
  location.hash = href(path, query);
}

// Keep what was chosen on a page in its address, without going anywhere.
export function remember(path, query) {
  history.replaceState(null, "", href(path, query));
}

export function startRouter(element, all, told) {
  main = element;
  pages = all;
  onPage = told;
  addEventListener("hashchange", show);
  show();
}

// What a page works with.
class View {
  constructor(element) {
    this.element = element;
    this.leaving = new AbortController();
    this.signal = this.leaving.signal; // aborts when the page is left
  }

  get isLeft() {
    return this.signal.aborted;
  }

  // Put these in place of whatever the page shows.
  show(...nodes) {
    if (!this.isLeft) replace(this.element, nodes);
  }

  // Show that something is read; then what `render(answer)` returns, or why it could not be, with a way to try again.
  // Where it returns nothing, the page stays as it is.
  async load(ask, render) {
    const again = () => this.load(ask, render);
    if (!this.element.hasChildNodes()) this.show(loading());
    try {
      const answer = await ask();
      const node = this.isLeft ? null : render(answer);
      if (node) this.show(node);
    } catch (error) {
      if (!error.problem) console.error(error);
      this.show(plainHead(), failed(error, again));
      if (error.problem?.code === "connection-lost") this.onceOpen(again);
    }
  }

  // When there is a connection again, if the page is still there.
  onceOpen(fn) {
    let isDone = false;
    this.onLeave(watchConnection(({ state }) => {
      if (state !== "open" || isDone || this.isLeft) return;
      isDone = true;
      fn();
    }));
  }

  // As subscribe() of connection.js, until the page is left.
  subscribe(topic, fn) {
    this.onLeave(subscribe(topic, fn));
  }

  onLeave(fn) {
    this.signal.addEventListener("abort", fn, { once: true });
  }

  setTitle(text) {
    if (!this.isLeft) onPage(current?.page, text);
  }
}

// Of a page that cannot be shown.
function plainHead() {
  const { title, under } = current.page;
  return h("header", { class: "head" }, under && h("a", { class: "back", href: `#${under}` }, icon("back"), "Back"), h("h1", {}, title));
}

function show() {
  const [path, words] = location.hash.replace(/^#/, "").split("?", 2);
  if (path === "" || path === "/") {
    location.replace("#/skills");
    return;
  }
  const found = find(path) ?? { page: NOWHERE, params: {} };
  if (!may(found.page.scope ?? "read")) found.page = closed(found.page);
  current?.view.leaving.abort();
  const params = { ...Object.fromEntries(new URLSearchParams(words ?? "")), ...found.params };
  const element = h("div", { class: "page" });
  const view = new View(element);
  const isFirst = current === null;
  current = { page: found.page, view };
  replace(main, element);
  scrollTo(0, 0);
  onPage(found.page, found.page.title);
  if (!isFirst) main.focus({ preventScroll: true });
  if (connectionState().state !== "open") view.show(loading());
  Promise.resolve(found.page.render(view, params)).catch((error) => {
    console.error(error);
    view.show(plainHead(), failed(error));
  });
}

const NOWHERE = {
  title: "No such page",
  render: (view) => view.show(plainHead(), empty("Nothing is here", "The address leads to no page of this console.", h("a", { class: "button", href: "#/skills" }, "Skills"))),
};

// In place of a page that this token may not see.
function closed(page) {
  const how = h("code", {}, `weft serve token new NAME --scope ${page.scope}`);
  return { ...page, render: (view) => view.show(plainHead(), empty("Your token may not see this", `It needs the scope ${page.scope}. A token that has it is made in a terminal:`, how)) };
}

function find(path) {
  for (const page of pages) {
    for (const pattern of [page.path, ...(page.paths ?? [])]) {
      const params = match(pattern, path);
      if (params) return { page, params };
    }
  }
  return null;
}

function match(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":") && given[index]) params[part.slice(1)] = decode(given[index]);
    else if (part !== given[index]) return null;
  }
  return params;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
