"""The daemon: one process that gives every program and person the same skills (R172). Not how they are found or run."""
