"""The needs of the phrases that come with weft, read from a file: to work them out takes longer than many a scan.

`tools/needs.py` writes it. It is looked up by the source of a pattern and the vocabulary, so that one that was changed
since is worked out anew.
"""

import os
from functools import cache
from hashlib import sha256

import msgspec

from clawft.scan.instructions.needs import find_needs
from clawft.scan.instructions.vocabulary import GROUPS

__all__ = ["FILE", "look_up_needs", "make_key"]

FILE = os.path.join(os.path.dirname(__file__), "needs.json")


def look_up_needs(source: str) -> tuple[frozenset[str], ...]:
    """What `find_needs` says."""
    known = _load().get(make_key(source))
    return find_needs(source) if known is None else known


def make_key(source: str) -> str:
    """What a pattern is known by."""
    return sha256(_vocabulary() + source.encode()).hexdigest()[:24]


@cache
def _vocabulary() -> bytes:
    return sha256(repr(GROUPS).encode()).digest()


@cache
def _load() -> dict[str, tuple[frozenset[str], ...]]:
    with open(FILE, "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, tuple[frozenset[str], ...]])
