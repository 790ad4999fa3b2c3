// Numbers, times and sizes as people read them.

const numbers = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const days = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const times = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const cents = new Intl.NumberFormat("en", { style: "currency", currency: "USD", minimumFractionDigits: 4 });

export const count = (value) => numbers.format(value);
export const compact = (value) => (value < 1000 ? String(value) : short.format(value));

// plural(2, "skill") -> "2 skills"
export function plural(value, word, many = `${word}s`) {
  return `${count(value)} ${value === 1 ? word : many}`;
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]]) {
    if (value >= size) return `${(value / size).toFixed(value < 10 * size ? 1 : 0)} ${unit}`;
  }
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

// A time of the daemon (ISO 8601) as "16 Nov 2026, 05:14:28"; of today without the day.
export function when(iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? times.format(at) : `${days.format(at)}, ${times.format(at)}`;
}

export function ago(iso) {
  const ms = Date.now() - new Date(iso).getTime();
  if (Number.isNaN(ms)) return "";
  return ms < 5000 ? "just now" : `${duration(Math.floor(ms / 1000) * 1000).replace(".0", "")} ago`;
}

// The beginning of a text, for where there is room for a line.
export function firstLine(text, most = 120) {
  const line = text.trim().split("\n").slice(0, 2).join(" ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  return (usd !== 0 && usd < 0.01 ? cents : dollars).format(usd);
}
