"""Skills that MCP servers offer (SEP-2640), for an app: listed, compared with what was approved, fetched."""
