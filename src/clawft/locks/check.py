"""What may stand in a lock. A project's lock is a stranger's: nothing in it may lead anywhere but to its own skill."""

import re
from collections.abc import Iterable, Mapping

from clawft.format.names import LEFT_OUT
from clawft.locks.model import LockedFile, Origin

__all__ = ["compute_locked", "is_digest", "is_plain_name", "is_plain_path", "why_bad_origin"]

MAX_NAME = 128
MAX_PATH = 400
MAX_URL = 2_000
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")  # SEC-02: other folders hold no skills
_HASH = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# An empty part, one that leads up or nowhere, one that no digest covers; a letter that splits paths elsewhere.
_ODD = re.compile(
    r"(?:^|/)(?:\.{0,2}|" + "|".join(map(re.escape, sorted(LEFT_OUT))) + r")(?:/|$)|[\\\x00-\x1f\x7f-\x9f\u2028\u2029]"
)
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")
_SHORT = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9.-]+:(?!//)[^\s-]\S*")  # as ssh writes places: git@host:path
_SCHEMES = {
    "clawhub": ("https", "http"),
    "contract": ("https", "http"),
    "well-known": ("https", "http"),
    "git": ("https", "http", "ssh", "git", "file"),
    "archive": ("https", "http"),
}


def is_plain_name(name: str) -> bool:
    """Whether this is the name of a folder and nothing else."""
    return _NAME.fullmatch(name) is not None


def is_plain_path(path: str) -> bool:
    """Whether this is a path below a skill's folder that its digest covers."""
    return 0 < len(path) <= MAX_PATH and _ODD.search(path) is None


def is_digest(text: str) -> bool:
    return text.startswith("sha256:") and _HASH.fullmatch(text, 7) is not None


def compute_locked(files: Mapping[str, LockedFile]) -> str:
    """The digest (D57) that a folder with just these files has."""
    import hashlib

    lines = [
        b"%s\0%s\0%d\0%s\n" % (path, b"x" if file.executable else b"-", file.size, file.sha256.encode())
        for path, file in sorted(_encoded(files.items()))
    ]
    return "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest()


def _encoded(files: Iterable[tuple[str, LockedFile]]) -> Iterable[tuple[bytes, LockedFile]]:
    return ((path.encode(), file) for path, file in files)


def why_bad_origin(origin: Origin, commit: str) -> str:
    """Why nothing is fetched from where a lock says; nothing if it may be."""
    url = origin.url
    if not url or len(url) > MAX_URL or url.startswith("-") or _UNSEEN.search(url.replace(" ", "")):
        return "its 'url' is no address"
    if commit and not _COMMIT.fullmatch(commit):
        return "its 'commit' is no commit"
    if origin.path and not is_plain_path(origin.path):
        return "its 'path' leads elsewhere"
    scheme, found, rest = url.partition("://")
    if not found:
        local = origin.kind in ("folder", "archive") or (origin.kind == "git" and _SHORT.fullmatch(url))
        return "" if local else "its 'url' is no address"
    if scheme not in _SCHEMES.get(origin.kind, ()):
        return f"its 'url' begins with {scheme!r}, which says nothing for a source of kind {origin.kind!r}"
    if scheme in ("https", "http") and "@" in rest.partition("/")[0]:
        return "its 'url' holds a password or a name"
    return ""
