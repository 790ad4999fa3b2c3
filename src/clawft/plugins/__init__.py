"""Plugins at work: each is started when something of it is first used, confined, and ended with the runtime."""
