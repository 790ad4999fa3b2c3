"""The order of versions, as semantic versioning defines it."""

import re

MAX_VERSION = 64
_NUMBER = r"(?:0|[1-9][0-9]{0,15})"
_PART = r"(?:0|[1-9][0-9]{0,15}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)

Order = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def is_version(text: str) -> bool:
    """Return whether this is a semantic version, as `1.2.3` or `2.0.0-beta.1`."""
    return len(text) <= MAX_VERSION and _VERSION.fullmatch(text) is not None


def version_order(text: str) -> Order:
    """Return the sort key of a version; a pre-release sorts before its release, and a text that is no version before
    all."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return (-1, 0, 0, False, ())
    major, minor, patch, before = found.groups()
    parts = before.split(".") if before else ()
    return (int(major), int(minor), int(patch), not before, tuple(map(_order, parts)))


def _order(part: str) -> tuple[bool, int, str]:
    return (False, int(part), "") if part.isdigit() else (True, 0, part)
