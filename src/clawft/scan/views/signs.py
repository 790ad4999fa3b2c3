"""Signs of encoded text: the few words without which a view need not look any closer, all found in one pass."""

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

__all__ = ["REVERSED", "ROTATED", "Signs", "find_signs"]

# A few words in their turned form: whoever turns a command or an order can hardly do without one of them.
ROTATED = (b"uggc", b"phey ", b"onfu", b"vafgehp", b"gur ")
REVERSED = (b"ptth", b"lruc", b"hsab", b"curtsni", b" eht ")
_WORDS = (
    *ROTATED, *REVERSED, b"64", b"atob", b"decode", b"85decode", b"ase85", b"cii85", b"<~",
    b"hr(", b"har]", b"\\x", b"\\u", b"&#", b"\\1",
)  # fmt: skip

Signs = Counter[bytes]


def find_signs(low: bytes) -> Signs:
    """How often each of the words stands in a text in lower case."""
    found = _build().find_matches_as_indexes(low, overlapping=True)
    return Counter([_WORDS[which] for which, _, _ in found]) if found else Counter()


@cache
def _build() -> "BytesAhoCorasick":
    from ahocorasick_rs import BytesAhoCorasick

    return BytesAhoCorasick(_WORDS)
