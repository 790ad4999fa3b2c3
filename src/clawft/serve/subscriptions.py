"""What one connection that stays is told of: the topics of a listener."""

from clawft.protocol.watching import Topic
from clawft.serve.topics import Listener, Topics

__all__ = ["Subscriptions"]


class Subscriptions:
    """The subscriptions of a connection, in the order they were asked for."""

    def __init__(self, topics: Topics, listener: Listener) -> None:
        self._all = topics
        self._listener = listener
        self._mine: dict[Topic, None] = {}

    @property
    def topics(self) -> tuple[Topic, ...]:
        return tuple(self._mine)

    def add(self, topics: tuple[Topic, ...]) -> None:
        """Raises: Refused for a topic that the listener may not hear of: then nothing is changed."""
        new = [one for one in dict.fromkeys(topics) if one not in self._mine]
        done: list[Topic] = []
        try:
            for one in new:
                self._all.add(one, self._listener)
                done.append(one)
        except BaseException:
            self.remove(tuple(done))
            raise
        self._mine |= dict.fromkeys(new)

    def remove(self, topics: tuple[Topic, ...]) -> None:
        for one in topics:
            self._all.remove(one, self._listener)
            self._mine.pop(one, None)
