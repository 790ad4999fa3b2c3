// Questions of tools that wait for a person.

import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { head } from "../parts.js";
import { questionCard } from "../questioncard.js";
import { waitingQuestions, watchQuestions } from "../questions.js";
import { empty } from "../states.js";

export const title = "Approvals";
export const path = "/approvals";

export function render(view) {
  const list = h("div", { class: "stack" });
  const sub = h("span", {});
  const cards = new Map();

  function show() {
    const waiting = waitingQuestions();
    sub.textContent = waiting.length ? `${plural(waiting.length, "tool waits", "tools wait")} for your answer.` : "Tools that want to do something ask here first.";
    for (const one of waiting) if (!cards.has(one.question)) cards.set(one.question, questionCard(one, { about: true }));
    const here = waiting.map((one) => cards.get(one.question));
    const gone = [...list.children].filter((one) => !here.includes(one));
    const hadFocus = gone.some((one) => one.contains(document.activeElement));
    if (here.length === 0) replace(list, empty("Nothing waits", "A question appears here the moment a tool asks it."));
    else {
      for (const one of gone) one.remove();
      for (const one of here) if (!one.isConnected) list.append(one);
    }
    if (hadFocus) (list.querySelector("button") ?? document.querySelector("main")).focus();
  }

  view.show(head("Approvals", { sub }), list);
  view.onLeave(watchQuestions(show));
  show();
}
