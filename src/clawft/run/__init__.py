"""One turn from a message to an answer: a generator of events."""
