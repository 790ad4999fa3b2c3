// One call of a hook, in a process of its own. The hook's module is loaded by a computed import, so that all it
// imports is checked against the permissions of the process: what the main module imports by itself is not.
//
// Reads one JSON document: {mark, handler, export, event, counts}. Writes the mark, the answer as JSON, and a line end.
import { answer, explain, NEVER } from "./answer.js";
import { endAtOnce, onIdle, onStray, readAll, write } from "./wire.js";

const { exit } = Deno;
const { mark, ...call } = JSON.parse(readAll());
let answered = false;

function finish(text) {
  if (answered) return;
  answered = true;
  write(mark, text);
  exit(0);
}

endAtOnce();
onStray((error) => finish(explain(error)));
onIdle(() => finish(explain(NEVER)));
answer(call, finish);
