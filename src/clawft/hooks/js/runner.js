// One call of a hook, in a process of its own. The hook's module is loaded by a computed import, so that all it
// imports is checked against the permissions of the process: what the main module imports by itself is not.
//
// Reads one JSON document: {mark, handler, export, event}. Writes the mark, the answer as JSON, and a line end. The
// mark is known to this module alone, so that nothing a hook prints passes for an answer. What is needed to write it
// is held before the hook's code runs, which may change every global.
import { answerOf } from "./answer.js";

const { stdin, stdout } = Deno;
const write = stdout.writeSync.bind(stdout);
const encode = TextEncoder.prototype.encode.bind(new TextEncoder());
const { exit } = Deno;

function readAll() {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(65536);
  let text = "";
  for (let size; (size = stdin.readSync(chunk)) !== null;) text += decoder.decode(chunk.subarray(0, size), { stream: true });
  return text;
}

function writeAll(bytes) {
  for (let left = bytes; left.length > 0;) left = left.subarray(write(left));
}

const call = JSON.parse(readAll());
const answer = await answerOf(call);
writeAll(encode("\n" + call.mark + answer + "\n"));
exit(0);
