"""One turn from a message to an answer: a generator of events."""

from clawft.run.conversation import Approve, Conversation
from clawft.run.runtime import Runtime
from clawft.run.turn import Insertion, Phase, Turn, TurnRequest

__all__ = ["Approve", "Conversation", "Insertion", "Phase", "Runtime", "Turn", "TurnRequest"]
