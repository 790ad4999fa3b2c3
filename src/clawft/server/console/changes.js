// A quiet hint of what changed on disk.

import { plural } from "./format.js";
import { href } from "./router.js";
import { toast } from "./toasts.js";

const NAMED = 3;
const KEPT = 50;
const recent = []; // newest first: {at, generation, text, took_ms}

export function tellChanges(message) {
  if (message.type !== "skills_changed") return;
  if (message.failed) {
    keep(message, `Failed: ${message.failed.message}`);
    toast("The skills could not be read again: the last good ones stay", { kind: "bad", detail: message.failed.message });
    return;
  }
  const parts = [
    say(message.added, "new"), say(message.changed, "changed"), say(message.removed, "gone"),
  ].filter(Boolean);
  keep(message, [...parts, ...message.also].join("; ") || plural(message.seen, "file"));
  if (parts.length === 0) return;
  const all = [...message.added, ...message.changed];
  const only = all.length === 1 && message.removed.length === 0 ? all[0] : null;
  const place = only ? href(`/skills/${encodeURIComponent(only.name)}`) : location.hash;
  const link = place === location.hash ? null : { href: place, text: "Look" };
  toast(parts.join("; "), { link });
}

export function recentChanges() {
  return recent;
}

function keep(message, text) {
  recent.unshift({ at: message.at, generation: message.generation, text, took_ms: message.took_ms });
  recent.length = Math.min(recent.length, KEPT);
}

function say(changes, word) {
  if (changes.length === 0) return "";
  if (changes.length > NAMED) return `${plural(changes.length, "skill")} ${word}`;
  const names = changes.map((one) => one.name).join(", ");
  const moved = changes.length === 1 && word === "changed" && changes[0].state !== changes[0].was_state;
  return moved ? `${names}: ${changes[0].was_state} → ${changes[0].state}` : `${names} ${word}`;
}
