"""The tools of an agent, by subject, and the registry that holds them."""
