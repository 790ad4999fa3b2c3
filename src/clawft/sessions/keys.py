"""Session keys as file names, one to one (R144, D30)."""

import re
from typing import Literal

from clawft.errors import ClawftError

__all__ = ["SUFFIX", "decode_key", "encode_key", "is_fork_key", "new_fork_key"]

SUFFIX = ".jsonl"
MAX_ENCODED = 200  # bytes; file systems allow 255, and sidecars add to the name
_ENCODED = re.compile(rb"[^A-Za-z0-9.-]")
_NAME = re.compile(r"(?:[A-Za-z0-9.-]|%[0-9A-F]{2})+")
_FORK = re.compile(r":(?:fork|task)-\w+\Z")
_ESCAPE = re.compile(r"%([0-9A-F]{2})")


def encode_key(key: str) -> str:
    """The file name of a key, without its suffix. Raises: ClawftError for a key that cannot name a file."""
    try:
        raw = key.encode()
    except UnicodeEncodeError as error:
        raise _refuse(key, "it is not valid Unicode") from error
    if not raw:
        raise _refuse(key, "it is empty")
    if raw.startswith(b"."):
        raise _refuse(key, "it starts with a dot")
    # D30: "_" and "%" are encoded too, so that no two keys share a name.
    name = _ENCODED.sub(lambda match: b"%%%02X" % match[0][0], raw).decode()
    if len(name) > MAX_ENCODED:
        raise _refuse(key[:40] + "…", f"its file name would have {len(name)} bytes; {MAX_ENCODED} is the limit")
    return name


def decode_key(name: str) -> str | None:
    """The key that a file name stands for; None for a name that no key has."""
    if not _NAME.fullmatch(name):
        return None
    try:
        key = _decode_bytes(name).decode()
        return key if encode_key(key) == name else None
    except (UnicodeDecodeError, ClawftError):
        return None


def new_fork_key(parent: str, kind: Literal["fork", "task"], mark: str) -> str:
    """A key below another's, for the conversation of a skill or a task that was forked from it."""
    name = f":{kind}-{mark}"
    while len(_ENCODED.sub(b"%XX", f"{parent}{name}".encode())) > MAX_ENCODED:
        parent = parent[: len(parent) * 9 // 10]
    return f"{parent}{name}"


def is_fork_key(key: str) -> bool:
    """Whether a session is of a fork: nobody but its parent began it."""
    return _FORK.search(key) is not None


def _decode_bytes(name: str) -> bytes:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), name).encode("latin-1")


def _refuse(key: str, why: str) -> ClawftError:
    return ClawftError("session-key", f"'{key}' cannot name a session: {why}", hint="Choose another key")
