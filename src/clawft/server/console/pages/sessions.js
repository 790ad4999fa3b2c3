// Conversations: the list, with a search in what was said; and one of them, with its tool calls.

import { request } from "../connection.js";
import { conversation } from "../conversation.js";
import { h, replace } from "../dom.js";
import { ago, bytes, count, plural, when } from "../format.js";
import { icon } from "../icons.js";
import { facts, head, searchField, table } from "../parts.js";
import { href, remember } from "../router.js";
import { empty, failed, loading } from "../states.js";
import { toastError } from "../toasts.js";

export const title = "Sessions";
export const path = "/sessions";
export const paths = ["/sessions/:key"];

const addressOf = (key, query) => href(`${path}/${encodeURIComponent(key)}`, query);
const NEWEST = 100; // records that the end of a long session begins with

export function render(view, params) {
  return params.key === undefined ? renderList(view, params) : renderOne(view, params.key, Number.parseInt(params.start, 10) || 0);
}

function renderList(view, params) {
  const chosen = { search: params.q ?? "", forks: params.forks === "yes" };
  const place = h("div", {}, loading());
  let asked = 0;

  async function show() {
    const mine = ++asked;
    const search = chosen.search.trim();
    try {
      const answer = await page(chosen, "");
      if (mine === asked && !view.isLeft) replace(place, listOf(answer, chosen, search));
    } catch (error) {
      if (mine === asked) replace(place, failed(error, show));
    }
  }

  function choose(now) {
    Object.assign(chosen, now);
    remember(path, { q: chosen.search, forks: chosen.forks ? "yes" : "" });
    show();
  }

  const forks = h("input", { type: "checkbox", checked: chosen.forks, onchange: (event) => choose({ forks: event.target.checked }) });
  view.show(
    head(title, { sub: "What was said, here and in the terminal, with what tools did. The newest come first." }),
    h(
      "div",
      { class: "bar" },
      searchField({ label: "Find what was said", value: chosen.search, rest_ms: 300, onInput: (search) => choose({ search }) }),
      h("label", { class: "check" }, forks, "Side conversations of skills and tasks, too"),
    ),
    place,
  );
  return show();
}

const page = (chosen, cursor) => request("list_sessions", { search: chosen.search.trim(), forks: chosen.forks, cursor, limit: 100 });

function listOf(answer, chosen, search) {
  const next = (cursor) => cursor && (async () => {
    const more = await page(chosen, cursor);
    return { rows: more.sessions, next: next(more.cursor) };
  });
  const none = search
    ? empty(`Nobody said “${search}”`, "Names of sessions are not searched, only what was said in them.")
    : empty("No sessions yet", "They appear here as soon as somebody talks to the agent.", h("a", { class: "button", href: "#/run" }, "Say something"), h("code", {}, "weft agent"));
  return table({
    label: title,
    rows: answer.sessions,
    none,
    next: next(answer.cursor) || null,
    open: (one) => addressOf(one.key),
    columns: [
      { title: "Session", class: "wide", cell: (one) => [one.title || one.key, h("span", { class: "under" }, one.matches.length ? one.matches.map(match) : one.key)] },
      { title: "Turns", class: "number", cell: (one) => count(one.turns) },
      { title: "Messages", class: "number", cell: (one) => count(one.messages) },
      { title: "Size", class: "number", cell: (one) => bytes(one.bytes) },
      { title: "Last", class: "nowrap", cell: (one) => h("time", { datetime: one.updated, title: when(one.updated) }, ago(one.updated)) },
    ],
  });
}

const match = (one) => h("span", { class: "match" }, `turn ${one.turn}, ${one.role}: ${one.snippet}`);

function renderOne(view, key, start) {
  view.setTitle(key);
  return view.load(() => request("get_session", { key, start: Math.max(0, start) }), (session) => {
    const whole = conversation();
    const more = h("button", { type: "button", class: "more", onclick: grow });
    let shown = session.start + session.records.length;
    whole.add(session.records);
    label();

    function label() {
      const left = session.total - shown;
      more.hidden = left <= 0;
      more.textContent = `Show more (${plural(left, "record")} left)`;
    }

    async function grow() {
      more.disabled = true;
      try {
        const page = await request("get_session", { key, start: shown });
        whole.add(page.records);
        shown += page.records.length;
        if (page.records.length === 0) shown = session.total;
      } catch (error) {
        toastError(error);
      }
      more.disabled = false;
      label();
    }

    return [
      head(key, { back: { href: `#${path}`, text: title }, actions: [h("a", { class: "button primary", href: href("/run", { session: key }) }, icon("run"), "Go on")] }),
      h("div", { class: "card" }, facts([
        ["Started", session.created && when(session.created)],
        ["Turns", count(session.turns)],
        ["Messages", count(session.messages)],
        ["Tokens", session.usage.input_tokens + session.usage.output_tokens > 0 && `${count(session.usage.input_tokens)} in, ${count(session.usage.output_tokens)} out`],
        ["Folder", session.cwd && h("span", { class: "mono" }, session.cwd)],
        ["Copied from", session.forked_from && h("a", { href: addressOf(session.forked_from) }, session.forked_from)],
        ["File", h("span", { class: "mono" }, session.path)],
      ])),
      session.diagnostics.length ? h("p", { class: "notice" }, session.diagnostics.map((one) => one.message).join(". ")) : null,
      elsewhere(session, shown),
      session.total === 0 ? empty("Nothing was said", "The session was begun, and nothing more.") : whole.element,
      more,
    ];
  });
}

// From the beginning of a long session to its end, and back.
function elsewhere({ key, start, total }, shown) {
  if (start > 0) return h("p", { class: "quiet" }, `${plural(start, "earlier record")} not shown. `, h("a", { href: addressOf(key) }, "From the beginning"));
  if (shown >= total) return null;
  return h("p", {}, h("a", { href: addressOf(key, { start: Math.max(shown, total - NEWEST) }) }, "Go to the newest"));
}
