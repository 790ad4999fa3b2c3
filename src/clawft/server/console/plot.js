// Bars, drawn by hand: as wide as there is room, readable in dark and light, with words for who does not see them.

import { h, replace, svg } from "./dom.js";

const HEIGHT = 160;
const STEP = 10; // of the drawing, for one column
const STEPS = [1, 2, 2.5, 5, 10];

// columns({label, items: [{name, parts: [number, …]}], series: ["in", "out"], format, nameOf})
// One column for each item, its parts on top of each other.
export function columns({ label, items, series, format, nameOf = (one) => one.name }) {
  const sums = items.map((one) => one.parts.reduce((sum, part) => sum + part, 0));
  const top = roundUp(Math.max(...sums, 0));
  const note = h("p", { class: "plot-note quiet", "aria-hidden": "true" });
  const rest = () => replace(note, series.length > 1 ? legend(series) : "\u00a0");
  const tell = (index) => {
    const words = items[index].parts.length > 1 ? items[index].parts.map((part, at) => `${format(part)} ${series[at]}`).join(", ") : format(sums[index]);
    replace(note, h("strong", {}, nameOf(items[index])), ` ${words}`);
  };
  const bars = items.map((one, index) => column(one.parts, index, top, () => tell(index)));
  const drawing = svg("svg", { class: "plot", viewBox: `0 0 ${items.length * STEP} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label, onpointerleave: rest }, bars);
  rest();
  return h(
    "figure",
    { class: "plot-frame" },
    note,
    h("div", { class: "plot-area" }, h("div", { class: "plot-scale", "aria-hidden": "true" }, [top, top / 2, 0].map((value) => h("span", {}, format(value)))), drawing),
    h("div", { class: "plot-days", "aria-hidden": "true" }, ends(items).map((one) => h("span", {}, nameOf(one)))),
  );
}

function column(parts, index, top, tell) {
  let at = HEIGHT;
  const rects = parts.map((part, series) => {
    const height = top ? (part / top) * (HEIGHT - 4) : 0;
    at -= height;
    return svg("rect", { class: `plot-bar plot-${series}`, x: index * STEP + 1.2, y: at, width: STEP - 2.4, height });
  });
  const whole = svg("rect", { class: "plot-hit", x: index * STEP, y: 0, width: STEP, height: HEIGHT });
  return svg("g", { class: "plot-column", onpointerenter: tell }, whole, rects);
}

function legend(series) {
  return series.map((one, index) => h("span", { class: "plot-key" }, h("span", { class: `plot-swatch plot-${index}` }), one));
}

const ends = (items) => (items.length > 2 ? [items[0], items[Math.floor(items.length / 2)], items.at(-1)] : items);

// The next round number: 1, 2, 2.5 or 5 and zeros.
function roundUp(value) {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return STEPS.find((one) => one * power >= value) * power;
}

// A bar within a cell of a table: `share` from 0 to 1.
export function cellBar(share) {
  const inner = h("span", { class: "cell-bar-in" });
  inner.style.width = `${Math.max(share > 0 ? 1 : 0, share * 100)}%`;
  return h("span", { class: "cell-bar", "aria-hidden": "true" }, inner);
}
