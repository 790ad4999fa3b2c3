"""The daemon's client, for programs in Python: `async with Client.local() as client`. docs/client.md shows more."""

from clawft.server.client import Approve, Client, ClientError, Subscription, Work
from clawft.server.protocol.executions import Question, SkillResult, TurnEvent, Verdict

__all__ = [
    "Approve",
    "Client",
    "ClientError",
    "Question",
    "SkillResult",
    "Subscription",
    "TurnEvent",
    "Verdict",
    "Work",
]
