"""Addresses on command lines: which words are one, and what comes from one."""

import re

from clawft.scan.facts import Fact
from clawft.scan.languages.commands.world import Value, World

__all__ = ["base_name", "is_address", "received_from", "remote_address"]

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
_REMOTE = re.compile(r"^(?:[\w.$-]+@)?([\w.${}\[\]-]+|\[[0-9a-f:]+\]):(?!\\)", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Whether a word is a URL."""
    return _SCHEME.match(text) is not None


def received_from(world: World, facts: list[Fact]) -> Value:
    name = facts[0].target if facts else ""
    return Value(f"$(fetch {name})", tuple(world.output(one) for one in facts), known=False)


def base_name(address: str) -> str:
    return address.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or "index.html"


def remote_address(text: str) -> str:
    if is_address(text):
        return text
    match = _REMOTE.match(text)
    return (
        "" if match is None or len(match[1]) < 2 else text.rpartition("@")[2] if "@" in text.partition(":")[0] else text
    )
