"""The terminal that people live in: prompt, slash commands, and the display of what the agent does."""
