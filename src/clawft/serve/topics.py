"""Telling many at once: each message is encoded once, and handed to all who subscribed. Nobody is waited for."""

from collections.abc import Callable

from clawft.protocol.base import Answer
from clawft.protocol.encoding import encode
from clawft.protocol.watching import Topic
from clawft.serve.caller import Caller

__all__ = ["Listener", "Topics"]


class Listener:
    """One who is told. `put` takes a message that is encoded already, and must not wait."""

    def __init__(self, caller: Caller, put: Callable[[bytes], None]) -> None:
        self.caller = caller
        self.put = put


class Topics:
    """Who is told of what."""

    def __init__(self) -> None:
        self._listeners: dict[Topic, dict[Listener, None]] = {}
        self.pushed = 0
        self.note: Callable[[Answer], None] = _nothing  # told of everything, as it is

    def add(self, topic: Topic, listener: Listener) -> None:
        """Raises: Refused for a topic that the listener may not hear of."""
        if topic == "approvals":
            listener.caller.need("approve")
        elif topic != "skills":
            listener.caller.need("admin")
        self._listeners.setdefault(topic, {})[listener] = None

    def remove(self, topic: Topic, listener: Listener) -> None:
        self._listeners.get(topic, {}).pop(listener, None)

    def has_listeners(self, topic: Topic) -> bool:
        return bool(self._listeners.get(topic))

    def publish(self, topic: Topic, message: Answer) -> None:
        """Tell all who subscribed."""
        self.note(message)
        listeners = tuple(self._listeners.get(topic, ()))
        if listeners:
            encoded = encode(message)
            for one in listeners:
                one.put(encoded)
            self.pushed += len(listeners)


def _nothing(_message: Answer) -> None:
    """Nobody keeps a log."""
