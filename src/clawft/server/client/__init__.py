"""A client of the daemon, for programs in Python: `async with Client.local() as client`. docs/client.md shows more.

It does not reconnect by itself when the daemon goes: that is up to the caller.
"""

from clawft.server.client.client import Approve, Client
from clawft.server.client.connection import ClientError, Subscription, Work

__all__ = ["Approve", "Client", "ClientError", "Subscription", "Work"]
