// Start a skill, or talk to the agent, and watch what happens.

import { request, stream } from "../connection.js";
import { h, replace } from "../dom.js";
import { firstLine } from "../format.js";
import { icon } from "../icons.js";
import { may, me } from "../me.js";
import { head } from "../parts.js";
import { note } from "../questions.js";
import { href, remember } from "../router.js";
import { isUsable } from "../skillwords.js";
import { toastError } from "../toasts.js";
import { transcript } from "../transcript.js";

export const title = "Run";
export const path = "/run";
export const paths = ["/run/:name"];

const KEPT = "clawft.work"; // what goes on, for the page that is loaded in place of this one
let work = null; // what was started last: it goes on while other pages are looked at
addEventListener("beforeunload", (event) => work?.isGoing && event.preventDefault()); // it would end with the page

export async function render(view, params) {
  const known = await usableSkills();
  const before = begin(params);
  if (params.session && !work?.isGoing && work?.session !== params.session) work = { session: params.session, turns: [], isGoing: false };
  const about = h("p", { class: "quiet run-about", id: "run-about" });
  const turns = h("div", {});
  const aside = h("div", { class: "run-aside" }, before && asideOf(before));
  const skill = h("input", { id: "run-skill", list: "run-skills", value: params.name ?? "", oninput: () => tellAbout(), "aria-describedby": "run-about", placeholder: "none: a message to the agent", autocomplete: "off", spellcheck: "false" });
  const text = h("textarea", { id: "run-text", rows: "3", placeholder: "What it is to do", onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit() });
  const model = h("input", { id: "run-model", placeholder: me.model || "as the config says", autocomplete: "off", spellcheck: "false" });
  const start = h("button", { type: "submit", class: "primary" });
  const cancel = h("button", { type: "button", class: "danger", onclick: () => work?.cancel() }, icon("stop"), "Cancel");
  const session = h("span", { class: "quiet" });
  const fresh = h("button", { type: "button", class: "bare", onclick: forget }, "New session");

  const form = h(
    "form",
    { class: "card run-form", onsubmit: submit },
    h("div", { class: "run-fields" }, field("Skill", skill), field("Model", model)),
    about,
    field("Arguments or message", text),
    h("datalist", { id: "run-skills" }, [...known.keys()].map((one) => h("option", { value: one }))),
    h("div", { class: "actions" }, start, cancel, fresh, session, h("span", { class: "quiet run-hint" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"))),
  );

  function tellAbout() {
    const name = skill.value.trim().replace(/^\//, "");
    const found = known.get(name);
    about.hidden = !name;
    replace(about, found ? [found.description, " ", h("a", { href: href(`/skills/${encodeURIComponent(name)}`) }, "More")] : "No skill of this name can be started.");
  }

  function submit(event) {
    event.preventDefault();
    const wanted = { skill: skill.value.trim().replace(/^\//, ""), text: text.value, model: model.value.trim() };
    if (work?.isGoing) return;
    if (!wanted.skill && !wanted.text.trim()) {
      about.hidden = false;
      replace(about, "Name a skill, or say what is to be done.");
      text.focus();
      return;
    }
    aside.replaceChildren();
    work = startWork(wanted, work?.session ?? "", work?.turns ?? []);
    skill.value = "";
    text.value = "";
    tellAbout();
    show();
  }

  function forget() {
    if (work?.isGoing) return;
    work = null;
    show();
    text.focus();
  }

  function show() {
    if (view.isLeft) return;
    if (work) work.onChange = show;
    const isGoing = Boolean(work?.isGoing);
    replace(start, icon("run"), work?.session ? "Go on" : "Start");
    start.disabled = isGoing;
    cancel.hidden = !isGoing;
    fresh.hidden = !work || isGoing;
    replace(session, work?.session ? ["in session ", h("a", { href: href(`/sessions/${encodeURIComponent(work.session)}`) }, work.session)] : "");
    const here = work?.turns ?? [];
    if (turns.childElementCount !== here.length || turns.lastChild !== here.at(-1)) replace(turns, here);
  }

  view.show(head("Run", { sub: "A skill with its arguments, or a message to the agent. It follows the same rules as at the command line." }), aside, turns, form);
  show();
  tellAbout();
  if (params.name) text.focus();
}

// From a skill's page a new session begins; what was here before, or ended with the page before this one, is told of.
function begin(params) {
  const lost = work ? null : takeLost();
  if (!params.fresh) return lost;
  remember(`/run/${encodeURIComponent(params.name)}`, {});
  if (!work || work.isGoing) return lost;
  const before = { session: work.session, text: "This begins a new session." };
  work = null;
  return before;
}

function takeLost() {
  const lost = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (!lost) return null;
  const { what, session } = JSON.parse(lost);
  return { session, text: `“${what}” was ended when the page was loaded again. What it did until then is in its session.` };
}

function asideOf({ session, text }) {
  const again = h("a", { href: href("/run", { session }) }, "Go on with the one before");
  return h("p", { class: "notice", role: "status" }, text, " ", again, may("admin") && [" · ", h("a", { href: href(`/sessions/${encodeURIComponent(session)}`) }, "Look at it")]);
}

function field(label, input) {
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
}

async function usableSkills() {
  try {
    const { skills } = await request("list_skills");
    return new Map(skills.filter((one) => isUsable(one.state) && one.user_invocable).map((one) => [one.name, one]));
  } catch (error) {
    toastError(error);
    return new Map();
  }
}

// A session of its own, known before the first answer: what was done is found there whatever happens to the connection.
function newKey() {
  const at = new Date().toISOString().replace(/[-:]|\..*/g, "").replace("T", "-");
  return `console:${at}-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
}

// The daemon ends what nobody follows any more.
function told(error) {
  if (error.problem?.code === "connection-lost") error.problem.hint ??= "It was ended with the connection. What it did until then is in its session, and can go on from there.";
  return error;
}

function startWork({ skill, text, model }, session, before) {
  const shown = transcript();
  const asked = h("div", { class: "asked" }, skill && h("strong", {}, `/${skill} `), text);
  const turn = h("article", { class: "turn" }, asked, shown.element);
  const mine = { isGoing: true, session: session || newKey(), turns: [...before, turn], execution: "", onChange: () => {}, cancel };
  sessionStorage.setItem(KEPT, JSON.stringify({ what: skill ? `/${skill}` : firstLine(text, 60), session: mine.session }));
  const params = { session: mine.session, model, ...(skill ? { name: skill, arguments: text } : { text }) };

  async function cancel() {
    try {
      if (mine.execution) await request("cancel", { execution: mine.execution });
    } catch (error) {
      toastError(error);
    }
  }

  const onEvent = (message) => {
    mine.execution = message.execution ?? mine.execution;
    note(message);
    shown.add(message);
  };
  stream(skill ? "execute_skill" : "chat", params, onEvent)
    .then((result) => {
      mine.session = result.session;
      shown.end(result);
    }, (error) => shown.fail(told(error)))
    .finally(() => {
      mine.isGoing = false;
      sessionStorage.removeItem(KEPT);
      mine.onChange();
    });
  return mine;
}
