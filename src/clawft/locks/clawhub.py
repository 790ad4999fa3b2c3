"""The lock of the `clawhub` command beside a folder of skills, and the note of where it is from in each of these."""

import os
import re
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_optional
from clawft.locks.foreign import load_document, parse_document, render_document, skills_of
from clawft.locks.model import LockedSkill

__all__ = [
    "LOCKS",
    "ORIGIN",
    "ClawhubOrigin",
    "add_clawhub",
    "drop_clawhub",
    "find_installed_at",
    "folder_of",
    "load_clawhub",
    "load_origin",
    "render_origin",
]

LOCKS = (".clawhub/lock.json", ".clawdhub/lock.json")  # the second is what it was called before
ORIGIN = ".clawhub/origin.json"
_ORIGINS = (ORIGIN, ".clawdhub/origin.json")
_MAX_ORIGIN = 1 << 20
_KEY = re.compile(r"(?:skills-sh:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/|@([A-Za-z0-9][A-Za-z0-9._-]*)/)?([A-Za-z0-9_-]+)")


class ClawhubOrigin(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What an installed folder says of itself."""

    version: int
    registry: str
    slug: str
    installed_version: str
    installed_at: float = 0
    owner_handle: str | None = None
    fingerprint: str | None = None


def load_clawhub(root: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The lock of a folder of skills: where it is, '' for none, and its entries. Raises: ClawftError."""
    for name in LOCKS:
        path = os.path.join(os.path.dirname(root), name)
        document = load_document(path)
        if document is not None:
            return path, skills_of(document)
    return "", {}


def folder_of(key: str, root: str) -> list[str]:
    """Where what a key names may lie: by its slug, or below its owner. Nowhere for a key that leads elsewhere."""
    match = _KEY.fullmatch(key)
    if match is None:
        return []
    owner, slug = match.groups()
    plain = os.path.join(root, slug)
    return [os.path.join(root, f"@{owner}", slug), plain] if owner else [plain]


def load_origin(folder: str) -> ClawhubOrigin | None:
    """What a folder says of itself, None where that is nothing, or nothing that counts. Raises: Unreadable."""
    for name in _ORIGINS:
        data = read_optional(os.path.join(folder, name), _MAX_ORIGIN)
        if data is not None:
            try:
                origin = msgspec.json.decode(data, type=ClawhubOrigin)
            except (msgspec.DecodeError, RecursionError):
                return None
            return origin if origin.version == 1 else None
    return None


def render_origin(skill: LockedSkill, fingerprint: str, now_ms: int) -> str:
    """The text of `origin.json` for what was installed from a registry."""
    origin = skill.origin
    fields: dict[str, Any] = {"version": 1, "registry": origin.url, "slug": origin.slug}
    if origin.owner:
        fields["ownerHandle"] = origin.owner
    fields |= {"installedVersion": skill.version or skill.commit, "installedAt": now_ms}
    return render_document(fields | ({"fingerprint": fingerprint} if fingerprint else {})) + "\n"


def add_clawhub(data: bytes | None, path: str, skill: LockedSkill, now_ms: int) -> str:
    """The lock with one more skill, or a newer one. Raises: ClawftError for one that cannot be read."""
    document = _open(data, path)
    known = document["skills"].get(skill.origin.slug)
    entry = {**known} if isinstance(known, dict) else {}
    same = find_installed_at(data, path, skill)  # nothing changes where nothing is new
    entry |= {"version": skill.version or skill.commit or None, "installedAt": same or now_ms}
    if skill.origin.owner:
        entry["ownerHandle"] = skill.origin.owner
    for field in ("pinned", "pinReason"):
        entry.pop(field, None)
    if skill.pinned:
        entry |= {"pinned": True, "pinReason": skill.pinned}
    document["skills"][skill.origin.slug] = entry
    return render_document(document) + "\n"


def find_installed_at(data: bytes | None, path: str, skill: LockedSkill) -> int | None:
    """When a lock says that this version was installed, in milliseconds; None where not. Raises: ClawftError."""
    entry = _open(data, path)["skills"].get(skill.origin.slug)
    if not isinstance(entry, dict) or entry.get("version") != (skill.version or skill.commit or None):
        return None
    at = entry.get("installedAt")
    return at if type(at) is int else None


def drop_clawhub(data: bytes | None, path: str, slug: str) -> str | None:
    """The lock without a skill; None where it does not have it. Raises: ClawftError."""
    document = _open(data, path)
    if document["skills"].pop(slug, None) is None:
        return None
    return render_document(document) + "\n"


def _open(data: bytes | None, path: str) -> dict[str, Any]:
    document: dict[str, Any] = {"version": 1, "skills": {}} if data is None else parse_document(data, path)
    if document.get("version") != 1:
        message = "The lock of another installer has a version that is not known here"
        raise ClawftError("other-lock-invalid", message, path=path, hint="It is left as it is")
    return document
