"""The callers of the daemon: their scopes, and the topics their connections subscribe to."""

from collections.abc import Callable

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import encode_json
from clawft.server.protocol.base import DaemonAnswer, TokenScope
from clawft.server.protocol.subscriptions import Topic

ALL_SCOPES: frozenset[TokenScope] = frozenset({"read", "run", "approve", "admin"})


class DaemonCaller(Struct, frozen=True):
    """The holder of a token, or the client at the other end of a pipe."""

    name: str
    scopes: frozenset[TokenScope]
    is_local: bool = False  # at the other end of a pipe: what it may is said where that is opened

    @property
    def described(self) -> str:
        """The caller's name in the audit log."""
        return f"the client '{self.name}' at the pipe" if self.is_local else f"token {self.name}"

    def may(self, scope: TokenScope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def need(self, scope: TokenScope) -> None:
        """Raises: Refused without that scope."""
        if self.may(scope):
            return
        if self.is_local:
            words = " ".join(f"--scope {scope_name}" for scope_name in sorted({*self.scopes, scope}))
            message = f"This client may not do that: it was started without the scope {scope}"
            raise Refused("scope-missing", message, hint=f"Have it start: weft mcp {words}")
        message = f"'{self.name}' may not do that: its token lacks the scope {scope}"
        raise Refused("scope-missing", message, hint=f"Make one that may: weft serve token new NAME --scope {scope}")

    def owns(self, name: str) -> bool:
        """Return whether what another caller started is this one's business."""
        return self.name == name or "admin" in self.scopes

    def session_key(self, key: str) -> str:
        """Return the key that a session is stored under: a caller without the scope `admin` gets a prefix of its
        own."""
        drawer = f"@{self.name}:"  # no channel's name begins so, nor anything else that has sessions
        return key if "admin" in self.scopes or key.startswith(drawer) else drawer + key


class DaemonCall(Struct, frozen=True):
    """One request on its way: who asks, and where what happens before the answer goes. `send` never waits."""

    caller: DaemonCaller
    send: Callable[[DaemonAnswer], None]
    subscriptions: "Subscriptions | None" = None  # of a connection that stays
    can_answer: bool = False  # questions reach the client at the other end, which may answer them
    is_known: Callable[[], bool] = lambda: True  # whether their token still counts: work for one that does not is ended


class Listener:
    """A subscriber. `put` takes a message that is encoded already, and must not wait."""

    def __init__(self, caller: DaemonCaller, put: Callable[[bytes], None]) -> None:
        self.caller = caller
        self.put = put


class Topics:
    """The subscribers of each topic."""

    def __init__(self) -> None:
        self._listeners: dict[Topic, dict[Listener, None]] = {}
        self.pushed = 0
        self.note: Callable[[DaemonAnswer], None] = lambda _message: None  # told of everything, as it is

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

    def publish(self, topic: Topic, message: DaemonAnswer) -> None:
        """Tell all who subscribed."""
        self.note(message)
        listeners = tuple(self._listeners.get(topic, ()))
        if listeners:
            encoded = encode_json(message)
            for listener in listeners:
                listener.put(encoded)
            self.pushed += len(listeners)


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
        new = [topic for topic in dict.fromkeys(topics) if topic not in self._mine]
        done: list[Topic] = []
        try:
            for new_topic in new:
                self._all.add(new_topic, self._listener)
                done.append(new_topic)
        except BaseException:
            self.remove(tuple(done))
            raise
        self._mine |= dict.fromkeys(new)

    def remove(self, topics: tuple[Topic, ...]) -> None:
        for topic in topics:
            self._all.remove(topic, self._listener)
            self._mine.pop(topic, None)
