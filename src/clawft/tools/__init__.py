"""What an agent can do: one file per tool, and the registry they stand in."""
