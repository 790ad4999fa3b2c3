"""Admission of a channel message: allowed senders, rate limit, cleaning, and the run id and session key it gets."""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
from msgspec import structs

from clawft.agent.sessions import encode_key
from clawft.agent.sessions.keys import is_fork_key
from clawft.config.tools import RateLimit
from clawft.contracts import InboundMessage
from clawft.errors import ClawftError
from clawft.sandbox.rate_limit import RateLimiter

MAX_SENDERS = 10_000  # that are remembered; of more, those who wrote longest ago begin anew


class SenderLimits:
    """Counts what each sender writes, on a clock that never goes back."""

    def __init__(self, settings: RateLimit, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._known: OrderedDict[str, RateLimiter] = OrderedDict()

    def take(self, sender: str) -> float:
        """Count a message, and return 0; or how many seconds to wait until one is taken, and count nothing."""
        limiter = self._known.pop(sender, None) or RateLimiter(self._settings, self._clock)
        self._known[sender] = limiter  # the last who wrote
        if len(self._known) > MAX_SENDERS:
            self._known.popitem(last=False)
        return limiter.try_acquire()


RESERVED = frozenset({"agent", "cli", "cron", "fleet", "fork", "run", "task"})  # what our own sessions begin with
_READABLE = 40


def make_run_id(received: datetime) -> str:
    """The run of a message: as others are named, with more chance, and nothing of what a sender chose."""
    return f"{received:%y%m%d-%H%M%S}-{secrets.token_hex(6)}"


def make_session_key(channel: str, conversation: str) -> str:
    """`CHANNEL:CONVERSATION`; where that cannot name a session, or would name one of another kind, with a mark."""
    key = f"{channel}:{conversation}"
    try:
        if not is_fork_key(key) and not conversation.startswith("~"):
            encode_key(key)
            return key
    except ClawftError:
        pass
    start = "".join(char for char in conversation if char.isascii() and char.isalnum())[:_READABLE]
    mark = hashlib.sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{channel}:~{start}~{mark}"


MAX_NAME = 1_000  # characters of an id, a sender or a conversation
MAX_METADATA = 16_000


def is_allowed(sender: str, allow: Sequence[str]) -> bool:
    """Return whether a sender may write: its whole name must match an entry, where `*` matches any characters."""
    return any(_matches(sender, pattern) for pattern in allow)


def _matches(sender: str, pattern: str) -> bool:
    """In one go: who writes chooses the name, and is not to choose how long this takes."""
    first, *middle = pattern.split("*")
    if not middle:
        return sender == pattern
    last, at = middle.pop(), len(first)
    for part in middle:
        found = sender.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return sender.startswith(first) and sender.endswith(last) and at + len(last) <= len(sender)


def find_fault(message: InboundMessage, max_chars: int) -> str:
    """Return why a message can never be accepted; '' if it can."""
    for name in ("id", "sender", "conversation"):
        value = getattr(message, name)
        if not value or len(value) > MAX_NAME:
            return f"it has no {name}" if not value else f"its {name} is longer than {MAX_NAME} characters"
        if value != _clean(value):
            return f"its {name} holds what is no text"
    if not message.text.strip():
        return "it has no text"
    if len(message.text) > max_chars:
        return f"it has {len(message.text)} characters; gateway.max_message_chars is {max_chars}"
    try:
        if len(msgspec.json.encode(message.metadata)) > MAX_METADATA:
            return f"its metadata has more than {MAX_METADATA} bytes"
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "its metadata is no JSON"
    return ""


def clean_message(message: InboundMessage) -> InboundMessage:
    """Return a message with a text that any database takes."""
    return structs.replace(message, text=_clean(message.text))


def _clean(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
