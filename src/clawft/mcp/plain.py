"""Text of a stranger made harmless: no characters that hide or reorder, never too long."""

import re

__all__ = ["clean_text", "cut_text"]

# Control characters, direction marks, and what is read by a model but seen by nobody: zero-width and filler
# characters, variation selectors of the supplement, tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def clean_text(text: str) -> str:
    """A text without characters that a reader cannot see or that change the order of others."""
    return _HIDDEN.sub("", text.replace("\r\n", "\n"))


def cut_text(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
