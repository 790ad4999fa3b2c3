"""The composition root: settings to objects. The only place that wires packages together."""
