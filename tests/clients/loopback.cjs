// Loaded before a client: what it would connect to outside this machine fails, and is written down.
const fs = require("node:fs");
const net = require("node:net");

const allowed = new Set(["127.0.0.1", "::1", "localhost"]);
const connect = net.Socket.prototype.connect;

net.Socket.prototype.connect = function (...given) {
  const first = Array.isArray(given[0]) ? given[0][0] : given[0];
  const options = typeof first === "object" && first !== null ? first : { host: given[1] };
  const host = options.path ? "localhost" : String(options.host ?? options.hostname ?? "localhost");
  if (allowed.has(host)) return connect.apply(this, given);
  fs.appendFileSync(process.env.CONNECTIONS, `${host}\n`);
  process.nextTick(() => this.destroy(new Error(`${host} is not this machine`)));
  return this;
};
