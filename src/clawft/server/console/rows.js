// A list of any length, of which only what is seen is there. All rows are equally high (CSS: .rows > li).

import { h } from "./dom.js";

const AROUND = 12; // rows kept above and below what is seen

// rows({label, make: item => [nodes], link: item => href, view, onSeen}) -> {element, set(items)}
// onSeen(items) tells which are seen after the list rests.
export function rows({ label, make, link, view, onSeen = null }) {
  const list = h("ul", { class: "rows", "aria-label": label, role: "list", "data-rows": "" });
  let items = [];
  let from = 0;
  let to = 0;
  let height = 0;
  let frame = 0;
  let resting = 0;

  const row = (index) =>
    h(
      "li",
      { "aria-setsize": items.length, "aria-posinset": index + 1, dataset: { index } },
      h("a", { href: link(items[index]), "data-row": "" }, make(items[index])),
    );

  function draw(force = false) {
    frame = 0;
    if (view.isLeft) return;
    if (!height) height = measure();
    const top = list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / height) - AROUND);
    const last = Math.min(items.length, Math.ceil((innerHeight - top) / height) + AROUND);
    if (force || first !== from || last !== to) fill(first, Math.max(first, last));
    clearTimeout(resting);
    if (onSeen) resting = setTimeout(() => view.isLeft || onSeen(items.slice(from, to)), 150);
  }

  function fill(first, last) {
    const focused = Number(document.activeElement?.closest("li")?.dataset.index ?? -1);
    const had = list.contains(document.activeElement);
    [from, to] = [first, last];
    list.style.paddingTop = `${first * height}px`;
    list.style.paddingBottom = `${Math.max(0, items.length - last) * height}px`;
    list.replaceChildren(...Array.from({ length: last - first }, (_, offset) => row(first + offset)));
    if (had && focused >= first && focused < last) focus(focused);
  }

  function measure() {
    list.replaceChildren(...items.slice(0, 1).map((_, index) => row(index)));
    return list.firstElementChild?.getBoundingClientRect().height || 48;
  }

  function focus(index) {
    list.children[index - from]?.querySelector("a").focus({ preventScroll: true });
  }

  function goTo(index) {
    const wanted = Math.max(0, Math.min(items.length - 1, index));
    const top = list.getBoundingClientRect().top + wanted * height;
    const margin = 96;
    if (top < margin) scrollBy(0, top - margin);
    else if (top + height > innerHeight - margin) scrollBy(0, top + height - innerHeight + margin);
    draw();
    focus(wanted);
  }

  list.addEventListener("keydown", (event) => {
    const at = Number(document.activeElement?.closest("li")?.dataset.index ?? -1);
    const page = Math.max(1, Math.floor(innerHeight / height) - 4);
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: items.length - 1 };
    if (at < 0 || steps[event.key] === undefined) return;
    event.preventDefault();
    goTo(steps[event.key]);
  });
  const ask = () => {
    frame ||= requestAnimationFrame(() => draw());
  };
  addEventListener("scroll", ask, { passive: true, signal: view.signal });
  addEventListener("resize", () => {
    height = 0;
    draw(true);
  }, { signal: view.signal });

  return {
    element: list,
    set(now) {
      items = now;
      if (items.length === 0) list.replaceChildren();
      draw(true);
    },
    redraw: () => draw(true),
  };
}
