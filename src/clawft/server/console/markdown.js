// What a model writes, as it meant it: headings, lists, paragraphs, code and bold. Elements are made one by one, nothing
// becomes markup, and a link shows where it leads.

import { h, outside } from "./dom.js";
import { code } from "./parts.js";

const INLINE = /`([^`\n]{1,500})`|\*\*([^*\n]{1,500})\*\*|\[([^\]\n]{0,300})\]\((https?:\/\/[^)\s]{1,1000})\)/g;
const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^#{1,6}\s+(.+)$/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const DEEPEST = 3;

// markdown("- `wc -l`: done") -> nodes
export function markdown(text) {
  const lines = text.split("\n");
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line)?.[1];
    const heading = HEADING.exec(line)?.[1];
    if (line.trim() === "") at += 1;
    else if (fence) {
      const end = lines.findIndex((one, index) => index > at && one.trim().startsWith(fence));
      const last = end < 0 ? lines.length : end;
      nodes.push(code(lines.slice(at + 1, last).join("\n")));
      at = last + 1;
    } else if (heading) {
      nodes.push(h("p", { class: "md-head" }, inline(heading)));
      at += 1;
    } else {
      const last = endOf(lines, at);
      nodes.push(ITEM.test(line) ? list(lines.slice(at, last)) : h("p", {}, inline(lines.slice(at, last).join("\n"))));
      at = last;
    }
  }
  return nodes;
}

// A paragraph ends before anything else begins; a list goes on over empty lines, as long as there are items.
function endOf(lines, from) {
  const isList = ITEM.test(lines[from]);
  for (let at = from + 1; at < lines.length; at += 1) {
    const isGap = lines[at].trim() === "";
    if (isGap && !(isList && ITEM.test(lines[at + 1] ?? ""))) return at;
    if (FENCE.test(lines[at]) || HEADING.test(lines[at]) || (!isList && ITEM.test(lines[at]))) return at;
  }
  return lines.length;
}

function list(lines) {
  const items = [];
  for (const line of lines) {
    const [, space, number, words] = ITEM.exec(line) ?? [];
    if (words !== undefined) items.push({ depth: Math.min(DEEPEST, Math.floor(space.length / 2)), number, words });
    else if (line.trim()) items.at(-1).words += `\n${line.trim()}`;
  }
  const rows = items.map((one) => h("li", { class: `md-depth-${one.depth}`, value: one.number ? Number(one.number) : null }, inline(one.words)));
  return h(items[0].number ? "ol" : "ul", { class: "md-list" }, rows);
}

function inline(text) {
  const nodes = [];
  let done = 0;
  for (const { 0: whole, 1: quoted, 2: bold, 3: words, 4: address, index } of text.matchAll(INLINE)) {
    nodes.push(text.slice(done, index));
    if (quoted !== undefined) nodes.push(h("code", { class: "md-code" }, quoted));
    else if (bold !== undefined) nodes.push(h("strong", {}, bold));
    else nodes.push(words && words !== address ? `${words} (` : "", outside(address), words && words !== address ? ")" : "");
    done = index + whole.length;
  }
  return [...nodes, text.slice(done)];
}
