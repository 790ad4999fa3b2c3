"""What may be stored: keys of one line, text without control characters, both bounded."""

import re

import msgspec

from clawft.contracts import Metadata
from clawft.errors import ClawftError

__all__ = ["PLACE", "check_key", "check_metadata", "check_size", "check_text", "clean_text"]

MAX_KEY_CHARS = 200
MAX_VALUE_BYTES = 64 << 10
PLACE = re.compile(r"(?:MEMORY|HISTORY)\.md:\d+")  # how search names what has no key
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def check_key(key: str) -> str:
    """The key as it is written. Raises: ClawftError."""
    key = key.strip()
    hint = f"Use one line of at most {MAX_KEY_CHARS} characters, as in 'editor' or 'project/deploy'"
    if not key or len(key) > MAX_KEY_CHARS or "\n" in key or "\t" in key or _CONTROL.search(key):
        raise ClawftError("memory-key", "This cannot be the key of a memory", hint=hint)
    if PLACE.fullmatch(key):
        raise ClawftError("memory-key", f"'{key}' names a place in a file, not a key", hint=hint)
    return key


def clean_text(text: str) -> str:
    """A text in which control characters are made visible."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def check_text(text: str) -> str:
    """The text as it is written. Raises: ClawftError."""
    text = text.replace("\r\n", "\n").strip()
    if _CONTROL.search(text):
        hint = "Leave out control characters, such as colours of a terminal"
        raise ClawftError("memory-text", "The text has characters that are no text", hint=hint)
    check_size(text)
    return text


def check_size(text: str) -> None:
    """Raises: ClawftError."""
    size = len(text.encode("utf-8", "surrogateescape"))
    if size > MAX_VALUE_BYTES:
        message = f"The text has {size} bytes; {MAX_VALUE_BYTES} is the limit"
        raise ClawftError("memory-too-large", message, hint="Keep what matters, or spread it over several keys")


def check_metadata(metadata: Metadata | None) -> dict[str, object] | None:
    """The metadata as it is kept. Raises: ClawftError."""
    try:
        encoded = msgspec.json.encode(dict(metadata or {}))
        kept: dict[str, object] = msgspec.json.decode(encoded)
    except (TypeError, ValueError, RecursionError) as error:
        raise ClawftError(
            "memory-text", f"The metadata is not JSON: {error}", hint="Use strings and numbers"
        ) from error
    if len(encoded) > MAX_VALUE_BYTES:
        raise ClawftError("memory-too-large", f"The metadata has {len(encoded)} bytes", hint="Keep what matters")
    return kept or None
