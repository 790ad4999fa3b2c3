// A process that is kept for one hook: one call after the other, each a line of JSON
// {mark, handler, export, event, counts}, each answered by a line of its own: the mark and the answer as JSON.
// What the hook's module holds stays.
import { answer, explain, NEVER } from "./answer.js";
import { endAtOnce, onIdle, onStray, readLine, write } from "./wire.js";

const { exit } = Deno;
const { parse } = JSON;
const Later = Promise;
let finish; // of the call that is being answered

endAtOnce();
onStray((error) => finish ? finish(explain(error)) : console.error(error));
onIdle(() => finish?.(explain(NEVER)));

function serve({ mark, ...call }) {
  return new Later((done) => {
    const own = (text) => {
      if (finish !== own) return; // a call that was answered gives no answer to the next
      finish = undefined;
      write(mark, text);
      done();
    };
    finish = own;
    answer(call, own);
  });
}

async function serveAll() {
  for (let line; (line = await readLine()) !== null;) await serve(parse(line));
  exit(0);
}

serveAll(); // not awaited: a module that waits for ever is an error of its own
