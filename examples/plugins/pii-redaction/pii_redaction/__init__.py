"""Personal data becomes placeholders before a model gets it."""
