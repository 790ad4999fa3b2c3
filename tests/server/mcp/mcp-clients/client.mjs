// List, get and execute skills with a JavaScript SDK: node client.mjs VERSION TARGET, where VERSION is 1 or 2, and
// TARGET is JSON: {"command", "args", "env", "cwd"} or {"url", "token"}. What was got is printed as JSON.
const [version, given] = process.argv.slice(2);
const target = JSON.parse(given);
const sdk = version === "1"
  ? {
      ...(await import("@modelcontextprotocol/sdk/client/index.js")),
      ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
      ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    }
  : { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) };

const headers = { Authorization: `Bearer ${target.token}` };
const transport = target.url
  ? new sdk.StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } })
  : new sdk.StdioClientTransport(target);
const negotiation = version === "1" ? {} : { versionNegotiation: { mode: "auto" } };
const client = new sdk.Client({ name: "test", version: "1.0.0" }, { capabilities: {}, ...negotiation });
await client.connect(transport);
const progress = [];
const call = { name: "skill-execute", arguments: { name: "greet", arguments: "Bo" } };
const options = { onprogress: (one) => progress.push(one.message) };
const got = {
  tools: (await client.listTools()).tools.map((one) => one.name),
  prompts: (await client.listPrompts()).prompts.map((one) => one.name),
  prompt: (await client.getPrompt({ name: "greet", arguments: { arguments: "Bo" } })).messages,
  resources: (await client.listResources()).resources.map((one) => one.uri),
  read: (await client.readResource({ uri: "skill://user/greet/SKILL.md" })).contents,
  list: (await client.callTool({ name: "skill-list", arguments: {} })).structuredContent,
  result: version === "1" ? await client.callTool(call, undefined, options) : await client.callTool(call, options),
  progress,
};
await client.close();
console.log(JSON.stringify(got));
