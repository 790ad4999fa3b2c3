"""Signing: who vouches for a skill's digest, and whether they are trusted."""
