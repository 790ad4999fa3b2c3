// A conversation as it was written down: what was said, tools folded with what came of them, skills, ends of turns.

import { h } from "./dom.js";
import { compact, count, when } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { chip, code, fold } from "./parts.js";
import { href } from "./router.js";

const STATUS = { finished: "good", failed: "bad", cancelled: "off" };

// conversation() -> {element, add(records)}: records as `get_session` gives them, in order.
export function conversation() {
  const element = h("div", { class: "events conversation" });
  const calls = new Map(); // id of a call -> where its result goes
  let turn = 0;

  const put = (...nodes) => element.append(...nodes);
  const line = (name, ...words) => put(h("p", { class: "event-line" }, icon(name), h("span", {}, words)));

  const say = {
    user(one) {
      const { words, skill } = withoutSkill(one.content ?? "");
      put(h("div", { class: "asked" }, h("span", { class: "unseen" }, "Asked: "), words, cutNote(one), pictures(one)));
      if (skill) put(fold([icon("file"), "What the skill says, as it was sent along"], code(skill)));
    },
    system: (one) => put(fold("Instructions", code(one.content ?? ""), cutNote(one))),
    assistant(one) {
      if (one.content) put(h("div", { class: "said" }, markdown(one.content), cutNote(one)));
      for (const call of one.tool_calls ?? []) put(toolCall(call, calls));
    },
    tool(one) {
      const result = calls.get(one.tool_call_id);
      const nodes = [h("p", { class: "quiet" }, "Result"), code(one.content ?? ""), cutNote(one), pictures(one)];
      if (!result) put(fold([icon("tool"), `Result of ${one.name || "a tool"}`], nodes));
      else {
        result.body.append(...nodes.filter(Boolean));
        result.state.append(chip(one.is_error ? "error" : "done", one.is_error ? "bad" : "good"));
      }
    },
  };

  function add(records) {
    for (const one of records) {
      if (one.turn > turn && (one.type === "message" || one.type === "skill")) {
        turn = one.turn;
        put(h("h2", { class: "turn-head" }, `Turn ${count(turn)}`, one.at && h("span", { class: "quiet" }, when(one.at))));
      }
      if (one.type === "message") say[one.role]?.(one);
      else if (one.type === "skill") line("file", ["hook", "fork", "prompt"].includes(one.scope) ? `${one.name} was heard` : ["Skill ", h("a", { href: href(`/skills/${encodeURIComponent(one.name)}`) }, one.name), " was loaded"]);
      else if (one.type === "compaction") put(fold(`${count(one.replaces)} earlier messages were summarised`, h("div", { class: "said" }, one.summary), cutNote(one)));
      else if (one.type === "turn") {
        put(turnEnd(one));
        for (const { state } of calls.values()) if (!state.hasChildNodes()) state.append(chip("not done", "off", "The turn ended before it did."));
        calls.clear();
      }
    }
  }
  return { element, add };
}

// What a person said, apart from the text of the skill that was loaded for it.
function withoutSkill(text) {
  const at = text.indexOf("<skill_content ");
  return at < 0 ? { words: text, skill: "" } : { words: text.slice(0, at).trim(), skill: text.slice(at) };
}

function toolCall(call, calls) {
  const malformed = call.malformed ?? "";
  const body = h("div", { class: "stack" }, h("p", { class: "quiet" }, "Arguments"), code(malformed || JSON.stringify(call.arguments ?? {}, null, 2)), cutNote(call));
  const state = h("span", { class: "tool-state" });
  calls.set(call.id, { body, state });
  const summary = Object.values(call.arguments ?? {}).find((one) => typeof one === "string") ?? malformed;
  return fold([icon("tool"), h("strong", {}, call.name), h("span", { class: "tool-summary mono" }, summary.slice(0, 200)), state], body);
}

function turnEnd(one) {
  const tokens = one.usage.input_tokens + one.usage.output_tokens;
  const words = [one.model, tokens && `${compact(one.usage.input_tokens)} tokens in, ${compact(one.usage.output_tokens)} out`].filter(Boolean).join(" · ");
  const run = one.run && h("a", { href: href(`/runs/${encodeURIComponent(one.run)}`) }, `run ${one.run}`);
  return h("p", { class: "turn-end" }, chip(one.status, STATUS[one.status]), h("span", { class: "quiet" }, words), run);
}

function cutNote(one) {
  return one.cut ? h("p", { class: "quiet" }, `${count(one.cut)} more characters are not shown.`) : null;
}

function pictures(one) {
  const number = one.images?.length ?? 0;
  return number ? h("p", { class: "quiet" }, `${number} ${number === 1 ? "picture" : "pictures"} (${one.images.map((image) => image.media_type).join(", ")})`) : null;
}
