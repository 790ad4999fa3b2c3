"""People elsewhere talk with the agent: messages that channels bring become runs, and what comes of them goes back."""
