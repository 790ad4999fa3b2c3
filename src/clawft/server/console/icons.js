// Small pictures, drawn from paths of ours.

import { svg } from "./dom.js";

const PATHS = {
  skills: ["M4 6h16M4 12h10M4 18h7"],
  run: ["M7 5l12 7-12 7z"],
  approvals: ["M12 3l8 3v6c0 4.6-3.2 7.6-8 9-4.8-1.4-8-4.4-8-9V6z", "M9 12l2 2 4-4"],
  sessions: ["M4 5h16v11H9l-5 4z"],
  runs: ["M12 7v5l3 2", "M12 3a9 9 0 1 0 9 9", "M16 4.2a9 9 0 0 1 4.2 4"],
  usage: ["M5 20V10M12 20V4M19 20v-7"],
  audit: ["M7 3h8l4 4v14H7z", "M10 11h6M10 15h6"],
  registry: ["M12 3l8 4.5v9L12 21l-8-4.5v-9z", "M4 7.5l8 4.5 8-4.5M12 12v9"],
  status: ["M3 12h4l2.5-7 5 14L17 12h4"],
  search: ["M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14z", "M16 16l4.5 4.5"],
  theme: ["M12 3a9 9 0 1 0 0 18z", "M12 3a9 9 0 0 1 0 18"],
  menu: ["M4 7h16M4 12h16M4 17h16"],
  close: ["M6 6l12 12M18 6L6 18"],
  back: ["M15 5l-7 7 7 7"],
  open: ["M9 5l7 7-7 7"],
  check: ["M5 12.5l4.5 4.5L19 7.5"],
  block: ["M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z", "M6.5 6.5l11 11"],
  warning: ["M12 4l9 16H3z", "M12 10v4M12 17v.5"],
  file: ["M7 3h8l4 4v14H7z"],
  stop: ["M7 7h10v10H7z"],
  tool: ["M14 6a4 4 0 0 0 5 5l-8.5 8.5a2.1 2.1 0 0 1-3-3L16 8"],
};

export function icon(name, label = "") {
  const attrs = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const lines = (PATHS[name] ?? []).map((d) => svg("path", { d }));
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", ...attrs }, lines);
}

export function mark() {
  const lines = ["M8 4v4.4M8 13.6V20M16 4v9M16 17.6V20"].map((d) => svg("path", { d, class: "warp" }));
  lines.push(svg("path", { d: "M4 9h16M4 15.4h8M18 15.4h2" }));
  return svg("svg", { class: "mark", viewBox: "0 0 24 24", "aria-hidden": "true" }, lines);
}
