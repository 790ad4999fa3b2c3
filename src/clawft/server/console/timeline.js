// What a run did, when and for how long: a line for each step, with a bar beside it.

import { h } from "./dom.js";
import { count, duration, money } from "./format.js";
import { chip, table } from "./parts.js";
import { nothing } from "./states.js";

const IDLE_SHARE = 0.12; // of the bar that a wait of any length takes at most: nothing happens meanwhile, be it for days
const WORK = new Set(["model", "tool", "command", "hook", "stage"]);

// `memory` as that of a table.
export function timelineTable(entries, memory) {
  if (entries.length === 0) return nothing("Nothing happened yet.");
  const first = Date.parse(entries[0].started);
  const spans = entries.map((one) => {
    const begin = Math.max(0, Date.parse(one.started) - first);
    return [begin, begin + (one.ms ?? Math.max(0, Date.now() - Date.parse(one.started)))];
  });
  const scale = makeScale(entries, spans);
  const rows = entries.map((entry, index) => ({ entry, span: spans[index] }));
  return table({
    label: "Timeline",
    memory,
    rows,
    columns: [
      { title: "After", class: "number nowrap", cell: ({ span }) => (span[0] ? `+${duration(span[0])}` : "0") },
      { title: "Took", class: "number nowrap", cell: ({ entry, span }) => took(entry, span) },
      { title: "What", class: "wide", cell: ({ entry }) => what(entry) },
      { title: "When", class: "bar-cell", cell: ({ entry, span }) => bar(entry, span, scale) },
      { title: "Tokens", class: "number nowrap", cell: ({ entry }) => (entry.usage ? `${count(entry.usage.input_tokens)} → ${count(entry.usage.output_tokens)}` : "") },
      { title: "Cost", class: "number", cell: ({ entry }) => (entry.cost_usd === null ? "" : money(entry.cost_usd)) },
    ],
  });
}

function took(entry, span) {
  if (entry.kind === "resumed") return "";
  return duration(span[1] - span[0]) + (entry.ms === null ? "…" : "");
}

function what(entry) {
  const step = h("span", { class: "step" });
  step.style.paddingLeft = `${Math.min(entry.depth, 8) * 14}px`;
  const mark = { failed: chip("failed", "bad"), running: chip("running", "info"), waiting: chip("waiting", "warn") }[entry.status];
  step.append(...[mark, " ", words(entry)].filter(Boolean));
  return step;
}

function words(entry) {
  switch (entry.kind) {
    case "queued":
      return entry.ms === null ? "waits for a worker" : "waited for a worker";
    case "resumed":
      return `${entry.name === "worker-ended" ? "its worker ended; goes on with" : "tried again, with"} ${entry.summary || "another worker"}`;
    case "wait":
      return `asked: ${entry.summary} ${entry.answer ? `— ${entry.answer}, ${entry.by}` : ""}`;
    default:
      return `${{ hook: "hooks ", stage: "stage " }[entry.kind] ?? ""}${entry.name || "a model"} ${entry.summary}`.trim();
  }
}

// Times to parts of the bar.
function makeScale(entries, spans) {
  const changes = new Map();
  entries.forEach((entry, index) => {
    const works = WORK.has(entry.kind) ? 1 : 0;
    const [begin, end] = spans[index];
    changes.set(begin, (changes.get(begin) ?? 0) + works);
    changes.set(end, (changes.get(end) ?? 0) - works);
  });
  const points = [...changes.keys()].sort((one, other) => one - other);
  let active = 0;
  const pieces = points.slice(1).map((end, index) => {
    active += changes.get(points[index]);
    return { begin: points[index], length: end - points[index], works: active > 0 };
  });
  const busy = pieces.reduce((sum, one) => sum + (one.works ? one.length : 0), 0) || 1;
  const widths = pieces.map((one) => (one.works ? one.length : Math.min(one.length, busy * IDLE_SHARE)));
  const total = widths.reduce((sum, one) => sum + one, 0) || 1;
  return (at) => {
    let sum = 0;
    for (const [index, piece] of pieces.entries()) {
      const share = piece.length ? Math.min(1, Math.max(0, (at - piece.begin) / piece.length)) : at > piece.begin ? 1 : 0;
      sum += widths[index] * share;
    }
    return sum / total;
  };
}

function bar(entry, [begin, end], scale) {
  const from = scale(begin);
  const inner = h("span", { class: `bar-in bar-${WORK.has(entry.kind) ? entry.kind : "wait"} bar-${entry.status}` });
  inner.style.left = `${from * 100}%`;
  inner.style.width = `${Math.max(0.6, (scale(end) - from) * 100)}%`;
  return h("span", { class: "bar-track", "aria-hidden": "true" }, inner);
}
