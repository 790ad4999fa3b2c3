// The files of a skill, read in place: each is fetched when it is opened, and its lines are numbered.

import { h, replace } from "./dom.js";
import { bytes, count } from "./format.js";
import { chip, fold } from "./parts.js";
import { failed, loading } from "./states.js";

const NUMBERED = 10_000; // lines; what comes after them is shown without numbers

// fileList(files, read) -> {element, has(path), open(path, line, {quietly})}: files are {path, size, program}, read(file) a promise
// of {text, cut, size}, whose text is null for what is no text.
export function fileList(files, read) {
  const folds = new Map(files.map((one) => [one.path, fileFold(one, read)]));
  return {
    element: h("div", { class: "stack files" }, [...folds.values()].map((one) => one.element)),
    has: (path) => folds.has(path),
    open: (path, line, how) => folds.get(path)?.open(line, how),
  };
}

function fileFold(file, read) {
  const place = h("div", { class: "stack" });
  const size = file.size === undefined ? null : h("span", { class: "quiet file-size" }, bytes(file.size));
  const element = fold([file.program && chip("program", "warn"), h("span", { class: "mono file-path" }, file.path), size], place);
  let reading = null;
  const load = () => (reading ??= show());

  async function show() {
    replace(place, loading());
    try {
      replace(place, content(await read(file)));
    } catch (error) {
      reading = null;
      replace(place, failed(error, load));
    }
  }

  element.addEventListener("toggle", () => element.open && load());
  return {
    element,
    async open(line, { quietly = false } = {}) {
      element.open = true;
      await load();
      place.querySelector(".line-marked")?.classList.remove("line-marked");
      const at = place.querySelector(`[data-line="${Number(line)}"]`);
      at?.classList.add("line-marked");
      if (quietly) return; // marked, but not gone to
      (at ?? element).scrollIntoView({ block: at ? "center" : "start" });
      (place.querySelector("pre") ?? element.querySelector("summary")).focus({ preventScroll: true });
    },
  };
}

function content({ text, cut, size }) {
  if (text === null) return h("p", { class: "quiet" }, "No text, or too much to be shown here.");
  if (text === "") return h("p", { class: "quiet" }, "It is empty.");
  return [numbered(text), cut && h("p", { class: "notice" }, `Only its beginning is shown: it has ${bytes(size)}.`)];
}

function numbered(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const rest = lines.slice(NUMBERED).join("\n");
  const shown = lines.slice(0, NUMBERED).map((line, index) => h("span", { class: "line", "data-line": index + 1 }, `${line}\n`));
  const pre = h("pre", { class: "code numbered", tabindex: "0" }, h("code", {}, shown, rest));
  pre.style.setProperty("--digits", count(lines.length).length);
  return pre;
}

// A place in a file, which opens there if the file is on the page.
export function placeLink(path, line, files, text) {
  if (!files?.has(path)) return text;
  return h("button", { type: "button", class: "as-text place", title: "Show this line", onclick: () => files.open(path, line) }, text);
}
