"""A client of the daemon, for programs in Python: `async with Client.local() as client`. docs/client.md shows more.

It does what it is told and nothing else: whoever wants to connect again when the daemon went does that.
"""

from clawft.client.client import Approve, Client
from clawft.client.errors import ClientError
from clawft.client.streams import Subscription, Work

__all__ = ["Approve", "Client", "ClientError", "Subscription", "Work"]
