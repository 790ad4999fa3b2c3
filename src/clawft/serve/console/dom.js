// Elements, made without markup: whatever a stranger wrote is a text node or the value of an attribute, never HTML.

const SAFE_LINK = /^(?:#|\/(?!\/)|https?:\/\/)/i;
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "open", "hidden", "indeterminate"]);
const REFUSED = new Set(["innerhtml", "outerhtml", "srcdoc", "style"]);

// h("a", { href: "#/skills", class: "name", onclick: fn, dataset: { id: 1 } }, "text", element, [more], null)
export function h(tag, attrs, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) setAttribute(element, name, value);
  return append(element, children);
}

export function append(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
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
    element.setAttribute(name, value === true ? "" : String(value));
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
