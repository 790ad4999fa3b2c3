"""The locks of the `skills` command: `skills-lock.json` of a project, `~/.agents/.skill-lock.json` of a user."""

import os
import re
from collections.abc import Mapping
from typing import Any

from clawft.errors import ClawftError
from clawft.locks.foreign import parse_document, render_document
from clawft.locks.model import LockedSkill

__all__ = [
    "PROJECT_LOCK",
    "add_global",
    "add_project",
    "drop_global",
    "drop_project",
    "find_global_lock",
    "folder_name",
]

PROJECT_LOCK = "skills-lock.json"
_PROJECT_VERSION, _GLOBAL_VERSION = 1, 3


def find_global_lock(home: str, environ: Mapping[str, str]) -> str:
    """Where the lock of a user is."""
    state = environ.get("XDG_STATE_HOME")
    return os.path.join(state, "skills", ".skill-lock.json") if state else f"{home}/.agents/.skill-lock.json"


def folder_name(name: str) -> str:
    """The folder that a skill of this name lies in."""
    return re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip(".-")[:255] or "unnamed-skill"


def add_project(data: bytes | None, path: str, skill: LockedSkill, computed: str) -> str:
    """`skills-lock.json` with one more skill, in their order. Raises: ClawftError for one that cannot be read."""
    document = _open(data, path, _PROJECT_VERSION, {})
    source, kind, url, inside = _describe(skill)
    entry = {**_known(document, skill.name), "source": source}
    _set(entry, "sourceUrl", url if kind in ("git", "gitlab") else "")
    _set(entry, "ref", skill.origin.ref)
    entry["sourceType"] = kind
    _set(entry, "skillPath", inside)
    document["skills"][skill.name] = entry | {"computedHash": computed}
    return _render_project(document)


def add_global(data: bytes | None, path: str, skill: LockedSkill, tree: str, now: str) -> str:
    """`.skill-lock.json` with one more skill; `now` is in ISO 8601. Raises: ClawftError."""
    document = _open(data, path, _GLOBAL_VERSION, {"dismissed": {}})
    source, kind, url, inside = _describe(skill)
    known = _known(document, skill.name)
    entry = {**known, "source": source, "sourceType": kind, "sourceUrl": url}
    _set(entry, "ref", skill.origin.ref)
    _set(entry, "skillPath", inside)
    entry |= {"skillFolderHash": tree, "installedAt": known.get("installedAt", now), "updatedAt": now}
    document["skills"][skill.name] = entry
    return render_document(document)


def drop_project(data: bytes | None, path: str, name: str) -> str | None:
    """The lock without a skill; None where it does not have it. Raises: ClawftError."""
    document = _open(data, path, _PROJECT_VERSION, {})
    return None if document["skills"].pop(name, None) is None else _render_project(document)


def drop_global(data: bytes | None, path: str, name: str) -> str | None:
    """The same of a user's lock. Raises: ClawftError."""
    document = _open(data, path, _GLOBAL_VERSION, {"dismissed": {}})
    return None if document["skills"].pop(name, None) is None else render_document(document)


def _open(data: bytes | None, path: str, version: int, more: dict[str, Any]) -> dict[str, Any]:
    if data is None:
        return {"version": version, "skills": {}, **more}
    document = parse_document(data, path)
    if document.get("version") != version:  # an older one its own tool would throw away
        message = "The lock of another installer has a version that is not known here"
        raise ClawftError("other-lock-invalid", message, path=path, hint="It is left as it is")
    return document


def _render_project(document: dict[str, Any]) -> str:
    ordered = sorted(document["skills"].items(), key=lambda one: one[0].encode("utf-16-be", "surrogatepass"))
    return render_document({**document, "skills": dict(ordered)}) + "\n"


def _known(document: dict[str, Any], name: str) -> dict[str, Any]:
    known = document["skills"].get(name)
    return known if isinstance(known, dict) else {}


def _set(entry: dict[str, Any], key: str, value: str) -> None:
    """A field that stands there only if it says something."""
    entry.pop(key, None)
    if value:
        entry[key] = value


def _describe(skill: LockedSkill) -> tuple[str, str, str, str]:
    """The source in their words: its short name, its type, its address, and where SKILL.md lies in it."""
    from urllib.parse import urlsplit  # slow, and whoever only looks needs none of it

    origin = skill.origin
    url = origin.url
    inside = f"{origin.path}/SKILL.md" if origin.path else "SKILL.md"
    if origin.kind == "git":
        parts = urlsplit(url)
        short = parts.path.strip("/").removesuffix(".git")
        if parts.hostname == "github.com":
            return short, "github", url, inside
        return url, "gitlab" if parts.hostname == "gitlab.com" else "git", url, inside
    if origin.kind == "folder" or "://" not in url:
        return url, "local", url, inside
    host = (urlsplit(url).hostname or "unknown").removeprefix("www.")
    if origin.kind == "clawhub" and origin.owner:
        url = f"{url.rstrip('/')}/api/v1/agent-skills/{origin.owner}/{origin.slug}/index.json"
    return host, "well-known", url, ""
