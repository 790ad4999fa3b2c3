"""Rows of a hub as values; pages of all skills, and what fits a search."""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from clawft.discovery.ranking import telling_words
from clawft.errors import ClawftError
from clawft.hub.database import Database
from clawft.hub.model import HubFile, HubRelease, HubSkill, HubVersion, Listed, Page

__all__ = [
    "MAX_PAGE",
    "RELEASE",
    "SKILL",
    "SORTS",
    "VERSION",
    "list_page",
    "read_files",
    "read_release",
    "read_skill",
    "read_version",
    "search_skills",
]

MAX_PAGE = 200
SORTS = {"updated": "updated", "created": "created", "downloads": "downloads", "name": "slug"}  # to columns
SKILL = "id, owner, slug, display_name, summary, created, updated, latest, downloads, deleted"
RELEASE = """v.version, v.created, substr(v.changelog, 1, 600), v.verdict, v.digest, v.fingerprint, v.archive,
v.archive_size, v.reasons, v.engine, v.yanked"""  # of a changelog what a list shows: there may be a thousand
VERSION = """id, skill, version, created, changelog, publisher, files, digest, fingerprint, archive, archive_size,
verdict, reasons, engine, yanked, download, download_size, dependencies, bundle, front"""
_BOTH = f"{', '.join(f's.{name}' for name in SKILL.split(', '))}, {RELEASE}"
_JOINED = "hub_skill s JOIN hub_version v ON v.skill = s.id AND v.version = s.latest"
_WEIGHTS = "8.0, 3.0, 4.0"  # name, summary, tags
_FILES = msgspec.json.Decoder(tuple[HubFile, ...])
_NAMES = msgspec.json.Decoder(tuple[str, ...])
_CURSOR = msgspec.json.Decoder(tuple[str, str | int, int])


def read_files(column: str) -> tuple[HubFile, ...]:
    return _FILES.decode(column)


def read_skill(row: Sequence[Any]) -> HubSkill:
    skill, owner, slug, display_name, summary, created, updated, latest, downloads, deleted = row
    return HubSkill(
        skill, owner, slug, display_name, summary, created, updated, latest, downloads=downloads, deleted=bool(deleted)
    )


def read_release(row: Sequence[Any]) -> HubRelease:
    version, created, changelog, verdict, digest, fingerprint, archive, archive_size, reasons, engine, yanked = row
    return HubRelease(
        version=version,
        created=created,
        changelog=changelog,
        verdict=verdict,
        digest=digest,
        fingerprint=fingerprint,
        archive=archive,
        archive_size=archive_size,
        reasons=_NAMES.decode(reasons),
        engine=engine,
        yanked=yanked,
    )


def read_version(row: Sequence[Any], tags: tuple[str, ...]) -> HubVersion:
    _, skill, version, created, changelog, publisher, files, digest, fingerprint, archive, archive_size = row[:11]
    verdict, reasons, engine, yanked, download, download_size, dependencies, bundle, front = row[11:]
    return HubVersion(
        skill=skill,
        version=version,
        created=created,
        changelog=changelog,
        publisher=publisher,
        files=read_files(files),
        digest=digest,
        fingerprint=fingerprint,
        archive=archive,
        archive_size=archive_size,
        verdict=verdict,
        reasons=_NAMES.decode(reasons),
        engine=engine,
        yanked=yanked,
        tags=tags,
        download=download,
        download_size=download_size,
        dependencies=_NAMES.decode(dependencies),
        bundle=bundle,
        front=front,
    )


def _read_both(row: Sequence[Any], score: float = 0) -> Listed:
    return Listed(read_skill(row[:10]), read_release(row[10:21]), score)


def list_page(database: Database, sort: str, limit: int, cursor: str, *, prefix: str, owner: str) -> Page:
    """A part of all skills that have a version to give, newest or most first, by name from a. Raises: ClawftError."""
    if sort not in SORTS:
        message = f"Skills cannot be sorted by '{sort[:40]}'"
        raise ClawftError("hub-sort", message, hint=f"Choose one of: {', '.join(SORTS)}")
    limit = max(1, min(limit, MAX_PAGE))
    column = f"s.{SORTS[sort]}"
    order, beyond = ("ASC", ">") if sort == "name" else ("DESC", "<")
    conditions, values = ["s.deleted = 0"], list[Any]()
    if cursor:
        conditions.append(f"({column}, s.id) {beyond} (?, ?)")
        values += _parse_cursor(cursor, sort)
    if prefix:
        conditions.append("s.slug >= ? AND s.slug < ?")
        values += [prefix, prefix + "\U0010ffff"]
    if owner:
        conditions.append("s.owner = ?")
        values.append(owner)
    rows = database.read(
        f"""SELECT {_BOTH} FROM {_JOINED} WHERE {" AND ".join(conditions)}
        ORDER BY {column} {order}, s.id {order} LIMIT ?""",
        (*values, limit + 1),
    )
    items = tuple(map(_read_both, rows[:limit]))
    return Page(items, _make_cursor(sort, items[-1].skill) if len(rows) > limit else "")


def search_skills(database: Database, query: str, limit: int) -> Page:
    """The skills whose name, summary or owner has words that begin as those of the query, best first."""
    words = telling_words(query)
    if not words:
        return Page(())
    limit = max(1, min(limit, MAX_PAGE))
    if database.dialect == "sqlite":
        rows = database.read(
            f"""SELECT {_BOTH}, t.score FROM (SELECT rowid AS skill, -bm25(hub_text, {_WEIGHTS}) AS score
            FROM hub_text WHERE hub_text MATCH ? ORDER BY score DESC, rowid LIMIT ?) t JOIN {_JOINED}
            WHERE t.skill = s.id ORDER BY t.score DESC, s.id""",
            (" OR ".join(f'"{word}"*' for word in words), limit),
        )
    else:
        rows = database.read(
            f"""SELECT {_BOTH}, t.score FROM (SELECT skill, ts_rank(words, asked) AS score
            FROM hub_text, to_tsquery('english', ?) asked WHERE words @@ asked
            ORDER BY score DESC, skill LIMIT ?) t, {_JOINED} WHERE t.skill = s.id ORDER BY t.score DESC, s.id""",
            (" | ".join(f"'{word}':*" for word in words), limit),
        )
    return Page(tuple(_read_both(row, round(float(row[21]), 6)) for row in rows))


def _make_cursor(sort: str, skill: HubSkill) -> str:
    at = {"updated": skill.updated, "created": skill.created, "downloads": skill.downloads, "name": skill.slug}[sort]
    return base64.urlsafe_b64encode(msgspec.json.encode((sort, at, skill.id))).decode().rstrip("=")


def _parse_cursor(cursor: str, sort: str) -> tuple[str | int, int]:
    try:
        found, at, skill = _CURSOR.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise _bad_cursor() from error
    numbers = [one for one in (at, skill) if isinstance(one, int)]
    if found != sort or isinstance(at, str) != (sort == "name") or any(abs(one) >= 1 << 63 for one in numbers):
        raise _bad_cursor()
    return at, skill


def _bad_cursor() -> ClawftError:
    return ClawftError("hub-cursor", "This is no cursor of such a list", hint="Begin without one")
