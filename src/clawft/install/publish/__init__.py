"""Publishing: a new skill, what is wrong with it, and how it gets to a registry."""
