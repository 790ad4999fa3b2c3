"""Text of a registry made harmless, for a line that a person reads."""

import re

__all__ = ["plain_line"]

# Control characters, direction marks, and what nobody sees.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]+"
)


def plain_line(text: str, max_chars: int = 300) -> str:
    """One line, without what a reader cannot see, and never too long."""
    line = " ".join(_HIDDEN.sub(" ", text[: 4 * max_chars]).split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
