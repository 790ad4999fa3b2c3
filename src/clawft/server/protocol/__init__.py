"""The messages between a client and the daemon: requests, answers, events, and the table of operations.

Every message is a JSON object with a `type`. Version 1 only grows: fields and types are added, none is renamed.
"""
