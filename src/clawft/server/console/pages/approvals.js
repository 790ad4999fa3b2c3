// Questions that wait for a person: of tools at work here, and of background runs.

import { rest } from "../dialogs.js";
import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { head } from "../parts.js";
import { questionCard } from "../questioncard.js";
import { noteRuns, waitingQuestions, waitingRuns, watchQuestions } from "../questions.js";
import { href } from "../router.js";
import { runQuestion } from "../runwords.js";
import { empty } from "../states.js";

export const title = "Approvals";
export const path = "/approvals";

export function render(view) {
  const list = h("div", { class: "stack" });
  const sub = h("span", {});
  const cards = new Map(); // they stay while the question does, and with them the focus

  function show() {
    const here = wanted();
    sub.textContent = here.length ? `${plural(here.length, "question waits", "questions wait")} for your answer.` : "Tools that want to do something ask here first.";
    const shown = here.map(([key, make]) => {
      if (!cards.has(key)) {
        cards.set(key, make());
        rest(cards.get(key));
      }
      return cards.get(key);
    });
    const gone = [...list.children].filter((one) => !shown.includes(one));
    const hadFocus = gone.some((one) => one.contains(document.activeElement) || one.dataset.decided);
    if (gone.length) for (const one of shown) rest(one); // they move
    if (shown.length === 0) replace(list, empty("Nothing waits", "A question appears here the moment a tool asks it."));
    else {
      for (const one of gone) one.remove();
      for (const one of shown) if (!one.isConnected) list.append(one);
    }
    if (hadFocus) (list.querySelector("article") ?? document.querySelector("main")).focus(); // on no button: nothing is allowed by one Enter too many
  }

  view.show(head("Approvals", { sub }), list);
  view.onLeave(watchQuestions(show));
  show();
}

function wanted() {
  const tools = waitingQuestions().map((one) => [one.question, () => questionCard(one, { about: true })]);
  const runs = waitingRuns().flatMap((run) => run.questions.map((one) => [`${run.id} ${one.key}`, () => runCard(run, one)]));
  return [...tools, ...runs];
}

function runCard(run, question) {
  const title = ["run ", h("a", { href: href(`/runs/${encodeURIComponent(run.id)}`) }, run.title || run.id)];
  return runQuestion(run, question, { title: h("span", {}, title), onDone: (now) => noteRuns([now.summary]) });
}
