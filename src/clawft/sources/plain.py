"""Text of a registry made harmless: a line that a person reads, and an address that is followed."""

import re
from urllib.parse import urljoin

from clawft.trust.urls import InvalidUrl

__all__ = ["join_url", "plain_line"]

# Control characters, direction marks, and what nobody sees.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]+"
)


def plain_line(text: str, max_chars: int = 300) -> str:
    """One line, without what a reader cannot see, and never too long."""
    line = " ".join(_HIDDEN.sub(" ", text[: 4 * max_chars]).split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def join_url(base: str, url: str) -> str:
    """Where an address leads that is written relative to another (RFC 3986). Raises: InvalidUrl."""
    try:
        return urljoin(base, url)
    except ValueError as error:
        raise InvalidUrl("cannot be read") from error
