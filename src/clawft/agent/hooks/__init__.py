"""Hooks: small programs that hear what happens in a session, and may have a say."""
