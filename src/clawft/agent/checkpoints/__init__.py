"""Checkpoints: what a project held before and after each turn that changed it, and how a turn is taken back."""
