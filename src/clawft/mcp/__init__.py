"""Tools of MCP servers. The package `mcp` is an optional part: without it, servers are reported and left alone."""
