"""`weft fleet run` with a real worker: results in order, what is bad, and going on after it was left."""
