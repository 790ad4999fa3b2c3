"""A skill and its arguments to the prompt a model is given."""
