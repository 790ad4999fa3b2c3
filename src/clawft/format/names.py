"""Names of skills and agents: what is canonical, and what is allowed on disk; and of clients, in `metadata`."""

import re
import unicodedata

__all__ = ["LEFT_OUT", "LEFT_OUT_FILES", "MAX_NAME", "NAMESPACES", "is_canonical", "is_safe_folder", "slugify"]

MAX_NAME = 64
LEFT_OUT = frozenset({".git", "__pycache__", ".clawhub", ".clawft"})  # no part of a skill: nothing is read there (D57)
LEFT_OUT_FILES = frozenset({".clawft-signature", ".DS_Store"})
# The blocks of clients, an earlier one winning (D45).
NAMESPACES = ("clawft", "openclaw", "wundr", "clawdbot", "clawdis", "moltbot", "nanobot", "clawdhub")
_CANONICAL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SAFE_FOLDER = re.compile(r"[A-Za-z0-9_-]+")


def is_canonical(name: str) -> bool:
    """Lowercase letters and digits of any script, joined by single hyphens, at most 64 (D5)."""
    if len(name) > MAX_NAME:
        return False
    if _CANONICAL.fullmatch(name):
        return True
    folded = unicodedata.normalize("NFKC", name).lower()  # so that no look-alike of a name is a name of its own
    return bool(name) and name == folded and all(part.isalnum() for part in name.split("-"))


def slugify(name: str) -> str:
    """The canonical name nearest to a text; empty when nothing of it can be kept."""
    folded = unicodedata.normalize("NFKC", name).lower()
    words = "".join(char if char.isalnum() and char == char.lower() else " " for char in folded).split()
    return "-".join(words)[:MAX_NAME].strip("-")


def is_safe_folder(name: str) -> bool:
    """Whether a folder may hold a skill (SEC-02): letters, digits, `_` and `-` only."""
    return _SAFE_FOLDER.fullmatch(name) is not None
