"""One turn from a message to an answer: prompt, model, tools and hooks; sessions, memory, providers, the MCP client."""
