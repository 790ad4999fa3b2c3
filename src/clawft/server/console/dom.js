// Elements, made without markup: whatever a stranger wrote is a text node or the value of an attribute, never HTML.

const SAFE_LINK = /^(?:#|\/(?!\/)|https?:\/\/)/i;
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "open", "hidden", "indeterminate"]);
const REFUSED = new Set(["innerhtml", "outerhtml", "srcdoc", "style"]);

// What is not seen, but changes how the text around it looks: directions, controls, widths of nothing, tags.
const HIDDEN = /(?:[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]|(?<=[\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?=[\u0000-\u007f])|[\ufe00-\ufe0f]{2,})+/gu;
const MARKED = 500; // places in one text that say what is hidden there; more are only marked

// h("a", { href: "#/skills", class: "name", onclick: fn, dataset: { id: 1 } }, "text", element, [more], null)
export function h(tag, attrs, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) setAttribute(element, name, value);
  return append(element, children);
}

export function append(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    if (child instanceof Node) element.append(child);
    else write(element, String(child));
  }
  return element;
}

// The same text, with a sign wherever something is hidden in it.
export function plain(text) {
  return text.replace(HIDDEN, "\ufffd");
}

function write(element, text) {
  let done = 0;
  let marks = 0;
  for (const { 0: hidden, index } of text.matchAll(HIDDEN)) {
    if (++marks > MARKED) break;
    element.append(text.slice(done, index), mark([...hidden]));
    done = index + hidden.length;
  }
  element.append(plain(text.slice(done)));
}

function mark(signs) {
  const name = `U+${signs[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  return h("span", { class: "hidden-sign", title: "Not seen otherwise" }, signs.length > 1 ? `${name} and ${signs.length - 1} more` : name);
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (REFUSED.has(name.toLowerCase())) throw new Error(`h() takes no ${name}`);
  if (typeof value === "function") {
    if (!name.startsWith("on")) throw new Error(`h() takes no function as ${name}`);
    element.addEventListener(name.slice(2), value);
  } else if (name === "dataset") {
    Object.assign(element.dataset, value);
  } else if (name.startsWith("on")) {
    throw new Error(`h() takes only functions as ${name}`);
  } else if (PROPERTIES.has(name)) {
    element[name] = value;
  } else if (name === "href" || name === "src") {
    if (SAFE_LINK.test(value)) element.setAttribute(name, value);
  } else {
    element.setAttribute(name, value === true ? "" : plain(String(value)));
  }
}

// A link to a page of somebody else; only its words where the address is none that a browser should follow.
export function outside(address, text = address) {
  if (!/^https?:\/\//i.test(address)) return h("span", {}, text);
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attrs, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (!REFUSED.has(name.toLowerCase())) element.setAttribute(name, String(value));
  }
  return append(element, children);
}
