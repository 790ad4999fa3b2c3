"""A private registry: one store, served as ClawHub's interface, as a well-known index and through MCP."""
