"""Names that a message gets: its run, and the session of its conversation."""

import hashlib
import secrets
from datetime import datetime

from clawft.errors import ClawftError
from clawft.sessions import encode_key
from clawft.sessions.keys import is_fork_key

__all__ = ["RESERVED", "make_run_id", "make_session_key"]

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
    start = "".join(one for one in conversation if one.isascii() and one.isalnum())[:_READABLE]
    return f"{channel}:~{start}~{_mark(conversation, 16)}"


def _mark(text: str, length: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
