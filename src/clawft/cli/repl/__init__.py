"""The terminal that people live in: prompt, slash commands, and a view of what the agent does."""
