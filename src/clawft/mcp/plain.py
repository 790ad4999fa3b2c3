"""Text of a stranger made harmless: no characters that hide or reorder, no secrets, never too long."""

import re
from collections.abc import Iterable

__all__ = ["clean_text", "cut_text", "mask"]

# Control characters, direction marks, and what is read by a model but seen by nobody: zero-width and filler
# characters, variation selectors of the supplement, tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MIN_SECRET = 4  # shorter ones are no secrets, and hiding them would hide the message


def clean_text(text: str) -> str:
    """A text without characters that a reader cannot see or that change the order of others."""
    return _HIDDEN.sub("", text.replace("\r\n", "\n"))


def cut_text(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def mask(text: str, secrets: Iterable[str]) -> str:
    """A text with every secret replaced, longest first so that no part of one stays."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, "****")
    return text
