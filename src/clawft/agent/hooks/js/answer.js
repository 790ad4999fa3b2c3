// What comes of one call, as JSON: {context, messages} or {error}. Shared by both ways of running hooks.
//
// A hook's code may change every global. So all that is used after it has run was taken before, what is written
// inherits nothing, and no promise stands between the hook and its answer but its own.
const { stringify } = JSON;
const { isArray } = Array;
const { apply } = Reflect;
const { then } = Promise.prototype;
const [Later, Text, Time] = [Promise, String, Date];
const REGISTERED = Symbol.for("openclaw.hook");

export const NEVER = "It waits for something that never comes";

// Calls `finish` with the answer as text. Without an event the handler is only loaded.
export async function answer({ handler, export: name, event, counts }, finish) {
  try {
    const run = find(await import(handler), name);
    if (typeof run !== "function") return finish(fail("export", `It exports no function '${name}'`));
    if (event === null) return finish(stringify({ __proto__: null, context: { __proto__: null }, messages: [] }));
    const given = { ...event, timestamp: new Time(event.timestamp), messages: [] };
    settle(run(given), (returned) => finish(tell(given, returned, counts)), (error) => finish(explain(error)));
  } catch (error) {
    finish(explain(error));
  }
}

// What was thrown, as an answer.
export function explain(error) {
  try {
    const name = Text(error?.name ?? "");
    return fail(name === "NotCapable" ? "denied" : "thrown", Text(error?.message ?? error), name, trace(error));
  } catch {
    return fail("thrown", "Something that cannot be told was thrown");
  }
}

function settle(returned, done, failed) {
  try {
    apply(then, returned, [done, failed]);
  } catch { // it is no promise
    const wrapped = new Later((give) => give(returned));
    apply(then, wrapped, [done, failed]);
  }
}

// Only what counts of the context is written: an event of any size leaves room for the answer.
function tell(given, returned, counts) {
  try {
    const context = merge(given.context, returned);
    const { messages } = given;
    if (context === null || typeof context !== "object" || isArray(context)) return fail("result", "its context is no object");
    if (!isArray(messages)) return fail("result", "its messages are no list");
    const kept = { __proto__: null };
    for (let at = 0; at < counts.length; at++) kept[counts[at]] = context[counts[at]];
    return stringify({ __proto__: null, context: kept, messages });
  } catch (error) {
    return fail("result", `it cannot be written as JSON: ${told(error)}`);
  }
}

function told(error) {
  try {
    return Text(error?.message ?? error);
  } catch {
    return "it cannot be told why";
  }
}

// Where it was thrown. A hook may have put anything there.
function trace(error) {
  try {
    return Text(error?.stack ?? "");
  } catch {
    return "";
  }
}

function fail(kind, message, name = "", stack = "") {
  return stringify({ __proto__: null, error: { __proto__: null, kind, message, name, stack } });
}

// What CommonJS exports is the default of the module that wraps it. A module without one may have called `runHook`.
function find(loaded, name) {
  if (typeof loaded[name] === "function") return loaded[name];
  const inner = loaded.default;
  if (name !== "default") return inner?.[name];
  const own = typeof inner?.default === "function" ? inner.default : inner;
  return own ?? globalThis[REGISTERED];
}

// A hook changes the context of its event, or returns what it decides, as OpenClaw's typed hooks do.
function merge(context, returned) {
  if (returned === null || typeof returned !== "object" || isArray(returned)) return context;
  return { ...context, ...returned };
}
