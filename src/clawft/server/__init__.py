"""The daemon: one process that serves the same skills to every program and user. Finding and running them is
elsewhere."""
