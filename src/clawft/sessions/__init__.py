"""Conversations on disk: append-only, one writer at a time, whole after any crash."""
