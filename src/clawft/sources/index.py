"""Indexes of well-known discovery: version 0.2.0, whose digests must be checked, and the older form without any."""

import re
from typing import Any, Literal

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.sources.plain import join_url, plain_line
from clawft.trust.urls import InvalidUrl

__all__ = ["MAX_TOLD", "SCHEMA", "Entry", "Index", "parse_index"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MAX_ENTRIES = 10_000
MAX_LISTED = 1_000  # files of one skill
MAX_TOLD = 5  # entries that are left out: what a person is to see must not be pushed off the screen
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_OWNED = re.compile(r"@[A-Za-z0-9][A-Za-z0-9._-]{0,62}/[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,99}")


class Entry(Struct, frozen=True):
    """One skill of an index, checked. The older form lists `files`, which are below `url`."""

    name: str
    type: Literal["skill-md", "archive", "files"]
    url: str
    sha256: str = ""
    description: str = ""
    version: str = ""
    files: tuple[str, ...] = ()


class Index(Struct, frozen=True):
    """What can be used of an index, and what was left out of it and why."""

    entries: tuple[Entry, ...]
    notes: tuple[Diagnostic, ...] = ()
    omitted: tuple[str, ...] = ()  # `@owner/name` of what the site has and cannot name here, as two of one name


def parse_index(document: Any, url: str) -> Index:
    """An index that was found at `url`. Raises: ClawftError for one that is not to be read at all."""
    skills = document.get("skills") if isinstance(document, dict) else None
    if not isinstance(skills, list) or len(skills) > MAX_ENTRIES:
        raise ClawftError("index-invalid", "The index lists no skills", path=url)
    schema = document.get("$schema")
    if schema is not None and schema != SCHEMA:
        message = f"The index is of a version that is not known here: {plain_line(str(schema), 100)}"
        raise ClawftError("index-schema", message, path=url, hint=f"Known is {SCHEMA}")
    entries: dict[str, Entry] = {}
    notes: list[Diagnostic] = []
    for one in skills:
        try:
            entry = _read_entry(one, url, dated=schema is None)
            if entry.name in entries:
                raise ValueError("its name is there twice")
            entries[entry.name] = entry
        except (ValueError, InvalidUrl) as error:
            named = plain_line(str(one.get("name", "")), 60) if isinstance(one, dict) else ""
            message = f"'{named}' of the index is left out: {error}"
            notes.append(Diagnostic("index-entry", "warning", message, url))
    if len(notes) > MAX_TOLD:
        more = f"{len(notes) - MAX_TOLD} more of the index are left out"
        notes[MAX_TOLD:] = [Diagnostic("index-entry", "warning", more, url)]
    said = document.get("omitted")
    omitted = [one for one in said if isinstance(one, str) and _OWNED.fullmatch(one)] if isinstance(said, list) else []
    return Index(tuple(entries.values()), tuple(notes), tuple(omitted[:MAX_ENTRIES]))


def _read_entry(one: Any, url: str, *, dated: bool) -> Entry:
    """Raises: ValueError with the reason."""
    if not isinstance(one, dict):
        raise ValueError("it is no table")
    name, said = _text(one, "name"), plain_line(_text(one, "description", required=False))
    if not _NAME.fullmatch(name):
        raise ValueError("its name is none that a folder may have")
    if dated and "files" in one:
        return Entry(name, "files", join_url(url, f"{name}/"), description=said, files=_read_files(one["files"]))
    kind, digest = _text(one, "type"), _DIGEST.fullmatch(_text(one, "digest"))
    if kind not in ("skill-md", "archive"):
        raise ValueError(f"its type is not known here: {plain_line(kind, 40)}")
    if digest is None:
        raise ValueError("its digest is no sha256")
    version = _text(one, "version", required=False)
    place = join_url(url, _text(one, "url"))
    return Entry(
        name,
        "archive" if kind == "archive" else "skill-md",
        place,
        digest[1],
        said,
        version if _VERSION.fullmatch(version) else "",
    )


def _text(one: dict[str, Any], key: str, *, required: bool = True) -> str:
    value = one.get(key)
    if isinstance(value, str) and value:
        return value
    if required:
        raise ValueError(f"it has no {key}")
    return ""


def _read_files(listed: Any) -> tuple[str, ...]:
    """Paths below the skill's folder. Raises: ValueError."""
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_LISTED or len(set(map(str, listed))) < len(listed):
        raise ValueError("its files are no list that can be used")
    for path in listed:
        parts = path.split("/") if isinstance(path, str) else [""]
        if not {"", ".", ".."}.isdisjoint(parts) or not path.isprintable() or set("\\:?#%") & set(path):
            raise ValueError(f"it lists what is no path: {plain_line(str(path), 60)}")
    if "SKILL.md" not in listed:
        raise ValueError("it has no SKILL.md")
    return tuple(listed)
