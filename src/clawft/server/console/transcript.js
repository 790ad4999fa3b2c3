// What happens in a turn, event by event, as a person follows it.

import { h, plain, replace } from "./dom.js";
import { compact, count, money, plural } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { me } from "./me.js";
import { chip, code, fold } from "./parts.js";
import { questionCard } from "./questioncard.js";

const TONES = { success: "good", partial: "warn", error: "bad", done: "good", failed: "bad", cancelled: "off", timeout: "bad", max_iterations: "warn", length: "warn" };

// transcript() -> {element, add(message), end(result), fail(error)}: messages are those of a stream.
export function transcript() {
  const list = h("div", { class: "events", role: "log", "aria-label": "What happens", "aria-live": "polite" });
  const foot = h("p", { class: "quiet usage-line", "aria-live": "off" });
  const element = h("div", { class: "transcript" }, list, foot);
  const tools = new Map();
  const questions = new Map();
  const spent = { input: 0, output: 0, cost: 0, calls: 0, isPriced: false };
  let text = null; // the text node that grows
  let held = ""; // what it is to grow by
  let holding = 0;

  const noes = []; // who said no, "" for nobody
  const put = (...nodes) => {
    if (text) replace(text.parentElement, markdown(text.data)); // it grows no more: as it was meant
    text = null;
    list.append(...nodes);
  };
  let frame = 0;
  const follow = (change) => {
    if (!frame && element.isConnected) {
      const wasAtEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 80;
      frame = requestAnimationFrame(() => {
        frame = 0;
        if (wasAtEnd && element.isConnected) scrollTo(0, document.documentElement.scrollHeight);
      });
    }
    change();
  };
  const line = (name, ...words) => put(h("p", { class: "event-line" }, icon(name), h("span", {}, words)));

  const say = {
    TurnStarted: (one) => line("run", "Model ", h("strong", {}, one.model), one.agent && `, agent ${one.agent}`),
    CatalogShown: (one) => line("skills", `The model was told of ${plural(one.described.length + one.named.length, "skill")}`, one.left_out.length ? `; ${one.left_out.length} had no room` : ""),
    SkillActivated: (one) => line("file", "Skill ", h("strong", {}, one.name), ` loaded by ${one.by === "user" ? "you" : `the ${one.by}`}`),
    ToolStarted(one) {
      const tool = toolFold(one);
      tools.set(one.call, tool);
      put(tool.element);
    },
    ToolFinished: (one) => tools.get(one.call)?.finish(one),
    ForkStarted: (one) => line("runs", one.skill ? `Skill ${one.skill} works in a conversation of its own` : "A task was given to a conversation of its own", one.run && `, in the background as run ${one.run}`),
    ForkActed: (one) => line("tool", `It uses ${one.tool}`, one.summary && `: ${one.summary}`),
    ForkFinished: (one) => line("check", `It is over: ${one.status}`, one.message && `, ${one.message}`),
    UsageReported(one) {
      spent.input += one.usage.input_tokens;
      spent.output += one.usage.output_tokens;
      spent.calls += 1;
      spent.isPriced ||= one.cost_usd !== null;
      spent.cost += one.cost_usd ?? 0;
      showSpent();
    },
    Compacted: (one) => line("skills", `Old turns were summarised: ${compact(one.tokens_before)} → ${compact(one.tokens_after)} tokens`),
    MessageSent: (one) => put(h("div", { class: "said said-aside" }, markdown(one.text))),
    Noticed: (one) => put(h("p", { class: `event-line event-${one.severity}` }, icon("warning"), h("span", {}, one.message, one.hint && h("span", { class: "quiet" }, ` ${one.hint}`)))),
  };

  // A text that is long takes a while to be laid out: it grows by more at a time.
  function hold(more) {
    held += more;
    holding ||= setTimeout(() => follow(release), 16 + (text?.length ?? 0) / 200);
  }

  function release() {
    clearTimeout(holding);
    holding = 0;
    if (!held) return;
    if (!text) {
      text = document.createTextNode("");
      list.append(h("div", { class: "said" }, text));
    }
    text.appendData(plain(held));
    held = "";
  }

  function showSpent() {
    const parts = [`${count(spent.input)} tokens in`, `${count(spent.output)} out`, plural(spent.calls, "call")];
    replace(foot, [...parts, spent.isPriced && money(spent.cost)].filter(Boolean).join(" · "));
  }

  function add(message) {
    release();
    if (message.type === "event") say[message.event.event]?.(message.event);
    else if (message.type === "question_asked") {
      const card = questionCard(message.question);
      questions.set(message.question.question, { card, tool: message.question.tool });
      list.append(card); // the text above may still be growing
    } else if (message.type === "question_closed") {
      const asked = questions.get(message.question);
      if (message.answer === "no") noes.push(message.by);
      asked?.card.replaceWith(h("p", { class: "event-line" }, icon("approvals"), h("span", {}, answered(message, asked.tool))));
    }
  }

  function end(result) {
    release();
    if (result.text && !list.querySelector(".said:not(.said-aside)")) put(h("div", { class: "said" }, markdown(result.text)));
    const refused = refusals(result.refused, noes);
    const tone = refused && result.status === "done" ? "warn" : TONES[result.status];
    put(h("div", { class: "ending", role: "status" }, chip(result.status.replace("_", " "), tone), refused && h("span", { class: "quiet" }, refused)));
    if (result.error) put(problemCard(result.error));
  }

  function fail(error) {
    release();
    for (const { card, tool } of questions.values()) if (card.isConnected) card.replaceWith(h("p", { class: "event-line" }, icon("approvals"), h("span", {}, `${tool}: not answered here`)));
    for (const one of tools.values()) one.leave();
    put(problemCard(error.problem ?? { message: error.message, code: "console-error" }));
  }
  return {
    element,
    add: (message) => (message.event?.event === "TextDelta" ? hold(message.event.text) : follow(() => add(message))),
    end: (result) => follow(() => end(result)),
    fail: (error) => follow(() => fail(error)),
  };
}

// What was not done: by somebody's no, and by rules, which nobody was asked about.
function refusals(all, noes) {
  const mine = noes.filter((by) => by === me.you).length;
  const rules = Math.max(0, all - noes.length);
  return [
    mine && `you said no to ${plural(mine, "action")}`,
    noes.length > mine && `${plural(noes.length - mine, "action")} refused by others`,
    rules && `${plural(rules, "action")} not allowed by the rules, or not answered`,
  ].filter(Boolean).join(" · ");
}

const LASTING = { once: "once", session: "for this session", always: "always in this project; taken back with: weft skills trust --list, then --revoke ID" };

function answered(message, tool) {
  if (message.answer === "nobody") return `${tool}: nobody answered in time, so it was a no`;
  if (message.answer === "cancelled") return `${tool}: ended before anybody answered`;
  const who = message.by && message.by !== me.you ? message.by : "you";
  return message.answer === "no" ? `${tool}: ${who} said no` : `${tool}: ${who} allowed it ${LASTING[message.answer] ?? message.answer}`;
}

function problemCard(problem) {
  return h("div", { class: "card ending-problem", role: "alert" }, h("strong", {}, problem.message), problem.hint && h("p", {}, problem.hint), h("p", { class: "quiet mono" }, problem.code));
}

// A tool with its arguments and what came of it, folded.
function toolFold(started) {
  const state = h("span", { class: "tool-state" }, h("span", { class: "spinner", role: "img", "aria-label": "working" }));
  const result = h("div", { class: "stack" });
  const element = fold([icon("tool"), h("strong", {}, started.tool), h("span", { class: "tool-summary mono" }, started.summary), state], labelled("Arguments", json(started.arguments)), result);
  return {
    element,
    // Nobody will tell what came of it.
    leave: () => result.hasChildNodes() || replace(state, chip("not known", "off")),
    finish(finished) {
      const isRefused = finished.result.error?.code === "PERMISSION_DENIED";
      replace(state, isRefused ? chip("refused", "warn") : chip(finished.status, TONES[finished.status]));
      const said = finished.result.text;
      replace(result, said ? [labelled("Result", said), fold("All of the result", code(json(finished.result)))] : labelled("Result", json(finished.result)));
    },
  };
}

function labelled(title, text) {
  return h("div", {}, h("p", { class: "quiet" }, title), code(text));
}

const json = (value) => JSON.stringify(value, null, 2);
