// The page that asks for the token, where there is none or it does not count.

import { h } from "./dom.js";
import { mark } from "./icons.js";
import { isToken, keepToken } from "./token.js";

export function askToken(why, onToken) {
  const problem = h("p", { class: "problem", id: "token-problem", role: "alert" }, why);
  const input = h("input", {
    type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-problem",
  });
  const submit = (event) => {
    event.preventDefault();
    const given = input.value.trim().replace(/^.*#token=/, ""); // the whole address does too
    if (!isToken(given)) {
      problem.textContent = "That is no token: it has letters, digits and a few signs, and no spaces.";
      return;
    }
    keepToken(given);
    onToken();
  };
  document.title = "Token · weft";
  document.body.replaceChildren(
    h(
      "main",
      { class: "gate" },
      h("div", { class: "home" }, mark(), "weft"),
      h("h1", {}, "Which token is yours?"),
      h("p", {}, "This page works with your daemon, and the daemon wants to know who asks. On its machine, this command prints the address of this page with your token:"),
      h("pre", { class: "code", tabindex: "0" }, h("code", {}, "weft serve url")),
      h(
        "form",
        { onsubmit: submit },
        h("label", { for: "token" }, "Or paste the token"),
        h("div", { class: "field-row" }, input, h("button", { type: "submit", class: "primary" }, "Open")),
        problem,
      ),
      h("p", { class: "quiet" }, "It is kept until this tab is closed, and sent to this daemon only."),
    ),
  );
  input.focus();
}
