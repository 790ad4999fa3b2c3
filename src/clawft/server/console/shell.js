// What stands around every page: navigation, the state of the connection, the theme.

import { watchConnection, connect } from "./connection.js";
import { h, plain, replace } from "./dom.js";
import { icon, mark } from "./icons.js";
import { showKeys } from "./keys.js";
import { clearToken } from "./token.js";
import { makeToasts } from "./toasts.js";

const THEMES = ["auto", "light", "dark"];
let titleText = "weft";
let badge = 0;
let project = "";

export function makeShell(pages) {
  const main = h("main", { id: "main", tabindex: "-1" });
  const nav = h("nav", { id: "nav", "aria-label": "Pages" }, h("ul", {}, pages.filter((page) => page.icon).map(item)));
  const menu = h("button", {
    type: "button", class: "bare menu", "aria-label": "Menu", "aria-expanded": "false", "aria-controls": "nav",
    onclick: () => toggle(!document.body.classList.contains("nav-open")),
  }, icon("menu"));
  const toggle = (isOpen) => {
    document.body.classList.toggle("nav-open", isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
  };
  addEventListener("hashchange", () => toggle(false));
  const side = h(
    "div",
    { class: "side" },
    h("div", { class: "brand" }, h("a", { href: "#/skills", class: "home", "aria-label": "weft, the skills" }, mark(), "weft"), h("span", { class: "project" }), menu),
    nav,
    h("div", { class: "side-foot" }, connectionLine(), themeButton(), keysButton(), forgetButton()),
  );
  const skip = h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, "To the content");
  document.body.replaceChildren(skip, side, lostBanner(), main, makeToasts());
  return main;
}

function item(page) {
  return h(
    "li",
    {},
    h("a", { href: `#${page.path}`, dataset: { page: page.path } }, icon(page.icon), h("span", {}, page.title), h("span", { class: "badge", hidden: true })),
  );
}

// Called by the router: which page is shown, and what it is called.
export function showPage(page, title) {
  for (const link of document.querySelectorAll("#nav a")) {
    const isHere = link.dataset.page === (page?.under ?? page?.path);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  titleText = plain([title, project, "weft"].filter(Boolean).join(" · "));
  showTitle();
}

export function setBadge(path, value) {
  const element = document.querySelector(`#nav a[data-page="${path}"] .badge`);
  if (!element) return;
  element.hidden = value === 0;
  replace(element, String(value), h("span", { class: "unseen" }, " waiting"));
  badge = value;
  document.body.classList.toggle("has-badge", value > 0);
  showTitle();
}

// Which project the daemon is for: its folder, in the navigation and in the titles of tabs.
export function nameProject(path) {
  project = path.replace(/\/+$/, "").split("/").at(-1);
  const place = document.querySelector(".project");
  replace(place, project);
  place.title = plain(path);
}

// Pages that this token may not use are not offered.
export function offerPages(pages, may) {
  for (const page of pages) {
    const link = document.querySelector(`#nav a[data-page="${page.path}"]`);
    if (link) link.parentElement.hidden = !may(page.scope ?? "read");
  }
}

function showTitle() {
  document.title = badge ? `(${badge}) ${titleText}` : titleText;
}

function connectionLine() {
  const line = h("p", { class: "connection", role: "status" });
  const words = { new: "Not connected", connecting: "Connecting…", open: "Connected", waiting: "Not connected", refused: "No token" };
  watchConnection(({ state }) => {
    line.dataset.state = state;
    replace(line, h("span", { class: "dot" }), words[state]);
  });
  return line;
}

function lostBanner() {
  const text = h("span", {});
  const banner = h(
    "div",
    { class: "lost", role: "alert", hidden: true },
    icon("warning"), text, h("button", { type: "button", onclick: () => connect() }, "Try now"),
  );
  let timer = 0;
  watchConnection(({ state, retryAt }) => {
    clearInterval(timer);
    if (state === "open" || state === "refused" || state === "new") banner.hidden = true;
    if (state !== "waiting") return;
    banner.hidden = false;
    const left = () => Math.max(1, Math.ceil((retryAt - Date.now()) / 1000));
    replace(text, `The daemon cannot be reached. Trying again in ${left()} s.`);
    timer = setInterval(() => replace(text, `The daemon cannot be reached. Trying again in ${left()} s.`), 1000);
  });
  return banner;
}

function themeButton() {
  const label = h("span", {});
  const show = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    replace(label, { auto: "Auto", light: "Light", dark: "Dark" }[theme]);
  };
  let theme = localStorage.getItem("clawft.theme") ?? "auto";
  show(THEMES.includes(theme) ? theme : "auto");
  const next = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("clawft.theme", theme);
    show(theme);
  };
  return h("button", { type: "button", class: "bare small", onclick: next, title: "Colours: as the system, light, dark" }, icon("theme"), h("span", { class: "unseen" }, "Colours: "), label);
}

function forgetButton() {
  const forget = () => {
    clearToken();
    location.reload();
  };
  return h("button", { type: "button", class: "bare small", onclick: forget, title: "This tab forgets the token" }, "Sign out");
}

function keysButton() {
  return h("button", { type: "button", class: "bare small", onclick: showKeys }, h("kbd", { "aria-hidden": "true" }, "?"), "Keys");
}
