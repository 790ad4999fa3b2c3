"""HTTP servers: limits on clients that are slow, many or loud, and the server itself."""
