"""May this message come in? What the settings of its channel say, before anything of it is written down."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from clawft.contracts import InboundMessage

__all__ = ["MAX_NAME", "clean_message", "find_fault", "is_allowed"]

MAX_NAME = 1_000  # characters of an id, a sender or a conversation
MAX_METADATA = 16_000


def is_allowed(sender: str, allow: Sequence[str]) -> bool:
    """Whether a sender is among those who may write: by their whole name, where `*` stands for any characters."""
    return any(_matches(sender, one) for one in allow)


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
    """Why a message cannot be taken, now or later; '' if it can."""
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
    """The same with a text that any database takes."""
    return structs.replace(message, text=_clean(message.text))


def _clean(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
