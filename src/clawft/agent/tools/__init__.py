"""The tools of an agent: one file per tool, and the registry that holds them."""
