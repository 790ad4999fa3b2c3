// Bytes in and out, by what the process has before a hook's code runs.
const { stdin, stdout } = Deno;
const { apply } = Reflect;
const { subarray } = Uint8Array.prototype;
const size = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "length").get;
const { writeSync } = stdout;
const { read, readSync } = stdin;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const { encode } = encoder;
const { decode } = decoder;
const { preventDefault, stopImmediatePropagation } = Event.prototype;
const chunk = new Uint8Array(65536);
const MORE = { __proto__: null, stream: true };
const LINE = 10;

function readPiece(got) {
  return apply(decode, decoder, [apply(subarray, chunk, [0, got]), MORE]);
}

export function readAll() {
  let text = "";
  for (let got; (got = apply(readSync, stdin, [chunk])) !== null;) text += readPiece(got);
  return text;
}

// A line; null at the end. Nobody writes another one before this one is answered.
export async function readLine() {
  let text = "";
  for (let got; (got = await apply(read, stdin, [chunk])) !== null;) {
    text += readPiece(got);
    if (chunk[got - 1] === LINE) return text;
  }
  return null;
}

// The mark is known to our modules alone, so that nothing a hook prints passes for an answer.
export function write(mark, answer) {
  let left = apply(encode, encoder, [`\n${mark}${answer}\n`]);
  while (apply(size, left, []) > 0) left = apply(subarray, left, [apply(writeSync, stdout, [left])]);
}

// What a hook left behind and fails by itself; `tell` gets what was thrown.
export function onStray(tell) {
  addEventListener("error", (event) => {
    apply(preventDefault, event, []);
    tell(event.error);
  });
  addEventListener("unhandledrejection", (event) => {
    apply(preventDefault, event, []);
    tell(event.reason);
  });
}

// Nothing is left that could go on. (A timer to wait for would take 9 ms to load.)
export function onIdle(tell) {
  addEventListener("beforeunload", (event) => {
    apply(preventDefault, event, []);
    tell();
  });
}

// Nothing of a hook runs once its answer is written.
export function endAtOnce() {
  addEventListener("unload", (event) => apply(stopImmediatePropagation, event, []));
}
