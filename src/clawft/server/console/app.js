// Where the console starts: a token, a connection, the shell, the pages.

import { connect, request, subscribe, watchConnection } from "./connection.js";
import { askToken } from "./gate.js";
import { startKeys } from "./keys.js";
import { PAGES } from "./pages/index.js";
import { startQuestions } from "./questions.js";
import { startRouter } from "./router.js";
import { makeShell, nameProject, offerPages, showPage } from "./shell.js";
import { me, setMe, may } from "./me.js";
import { takeToken, getToken } from "./token.js";
import { toastError } from "./toasts.js";
import { tellChanges } from "./changes.js";

takeToken();
addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#token=")) return;
  takeToken(); // the address with a token, pasted into a tab that has the console already
  location.reload();
});
if (getToken()) start();
else askToken("", start);

function start() {
  const main = makeShell(PAGES);
  let isBegun = false;
  watchConnection(({ state }) => {
    if (state === "refused") askToken(`That token does not count${isBegun ? " any more" : ""}.`, () => location.reload());
    if (state === "open" && !isBegun) {
      isBegun = true;
      begin(main).catch((error) => {
        isBegun = false; // the next connection begins anew
        toastError(error);
      });
    }
  });
  connect();
}

async function begin(main) {
  setMe(await request("get_status"));
  nameProject(me.project);
  offerPages(PAGES, may);
  subscribe("skills", tellChanges);
  if (may("approve")) startQuestions();
  startKeys(PAGES);
  startRouter(main, PAGES, showPage);
}
