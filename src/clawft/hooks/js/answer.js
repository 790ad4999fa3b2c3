// What came of one call, as JSON: {context, messages} or {error}. Shared by both ways of running hooks.
const { parse, stringify } = JSON;
const { isArray } = Array;
const Time = Date;

export async function answerOf({ handler, export: name, event }) {
  try {
    const loaded = await import(handler);
    const run = find(loaded, name);
    if (typeof run !== "function") return stringify({ error: { kind: "export", message: `There is no function '${name}' in it` } });
    const given = { ...event, timestamp: new Time(event.timestamp), messages: [] };
    const returned = await run(given);
    return stringify({ context: merge(given.context, returned), messages: given.messages });
  } catch (error) {
    return stringify({ error: describe(error) });
  }
}

// What CommonJS exports is the default of the module that wraps it.
function find(loaded, name) {
  if (typeof loaded[name] === "function") return loaded[name];
  const inner = loaded.default;
  if (name === "default") return typeof inner?.default === "function" ? inner.default : inner;
  return inner?.[name];
}

// A hook changes the context of its event, or returns what it decides, as OpenClaw's typed hooks do.
function merge(context, returned) {
  if (returned === null || typeof returned !== "object" || isArray(returned)) return context;
  return { ...context, ...returned };
}

function describe(error) {
  try {
    const kind = error?.name === "NotCapable" ? "denied" : "thrown";
    const where = typeof error?.stack === "string" ? parse(stringify(error.stack)) : "";
    return { kind, message: String(error?.message ?? error), name: String(error?.name ?? ""), where };
  } catch {
    return { kind: "thrown", message: "Something that cannot be told was thrown", name: "", where: "" };
  }
}
