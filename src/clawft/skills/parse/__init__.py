"""Text to Skill or Agent, for every dialect. Pure: no disk, no environment."""
