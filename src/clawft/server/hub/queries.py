"""SQL of the hub: quotas of owners, reading and searching skills, and the rows that a publication writes."""

import base64
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.config.registries import QuotaSettings
from clawft.errors import ClawftError, Refused
from clawft.install.publish.versions import version_order
from clawft.server.hub.database import Execute, HubDatabase, Row
from clawft.server.hub.model import (
    CheckedDraft,
    HubFile,
    HubListing,
    HubPage,
    HubRelease,
    HubSkill,
    HubVersion,
    OwnerUsage,
    PublicationDraft,
)
from clawft.skills.discovery.ranking import find_significant_words

Read = Callable[[str, Sequence[Any]], list[Row]]


def check_sizes(draft: PublicationDraft, quota: QuotaSettings) -> None:
    """Raises: Refused where one version is too large by itself."""
    if len(draft.files) > quota.version_files:
        raise _refuse("hub-too-large", f"It has {len(draft.files)} files; {quota.version_files} is the limit")
    for file in draft.files:
        if file.size > quota.file_mb << 20:
            raise _refuse("hub-too-large", f"'{file.path[:200]}' is larger than {quota.file_mb} MB")
    if sum(file.size for file in draft.files) > quota.version_mb << 20:
        raise _refuse("hub-too-large", f"It is larger than {quota.version_mb} MB")


def check_quota(read: Read, draft: PublicationDraft, quota: QuotaSettings) -> None:
    """Raises: Refused where an owner has no room for this version."""
    used = read_usage(read, draft.owner)
    counted = read(
        """SELECT s.id, (SELECT count(*) FROM hub_version v WHERE v.skill = s.id) FROM hub_skill s
        WHERE s.owner = ? AND s.slug = ?""",
        (draft.owner, draft.slug),
    )
    versions = int(counted[0][1]) if counted else 0
    skills = used.skills - bool(counted and not versions)  # one that is being made is counted already
    if not versions and skills >= quota.skills:
        raise _refuse("hub-quota", f"'{draft.owner}' has {skills} skills, and may have no more")
    if versions >= quota.versions:
        raise _refuse("hub-quota", f"The skill has {versions} versions, and may have no more")
    if used.bytes + sum(file.size for file in draft.files) > quota.owner_mb << 20:
        raise _refuse("hub-quota", f"'{draft.owner}' may keep {quota.owner_mb} MB, and this would be more")


def read_usage(read: Read, owner: str) -> OwnerUsage:
    """Return the storage that an owner uses, with deleted skills and yanked versions."""
    ((skills,),) = read("SELECT count(*) FROM hub_skill WHERE owner = ?", (owner,))
    ((versions, size),) = read(
        """SELECT count(*), coalesce(sum(v.bytes), 0) FROM hub_version v JOIN hub_skill s ON s.id = v.skill
        WHERE s.owner = ?""",
        (owner,),
    )
    return OwnerUsage(int(skills), int(versions), int(size))


def _refuse(code: str, message: str) -> Refused:
    return Refused(code, message, hint="Nothing was kept. The limits are in [hub.quota]")


MAX_PAGE = 200
SORTS = {"updated": "updated", "created": "created", "downloads": "downloads", "name": "slug"}  # to columns
SKILL = ", ".join(HubSkill.__struct_fields__)
RELEASE = """v.version, v.created, substr(v.changelog, 1, 600), v.verdict, v.digest, v.fingerprint, v.archive,
v.archive_size, v.reasons, v.engine, v.yanked"""  # of a changelog what a list shows: there may be a thousand
_VERSION_FIELDS = [name for name in HubVersion.__struct_fields__ if name != "tags"]
VERSION = ", ".join(_VERSION_FIELDS)
_BOTH = f"{', '.join(f's.{name}' for name in SKILL.split(', '))}, {RELEASE}"
_JOINED = "hub_skill s JOIN hub_version v ON v.skill = s.id AND v.version = s.latest"
_WEIGHTS = "8.0, 3.0, 4.0"  # name, summary, tags
_FILES = msgspec.json.Decoder(tuple[HubFile, ...])
_NAMES = msgspec.json.Decoder(tuple[str, ...])
_CURSOR = msgspec.json.Decoder(tuple[str, str | int, int])


def read_files(column: str) -> tuple[HubFile, ...]:
    return _FILES.decode(column)


def read_skill(row: Sequence[Any]) -> HubSkill:
    fields = dict(zip(HubSkill.__struct_fields__, row, strict=True))
    return HubSkill(**fields | {"deleted": bool(fields["deleted"])})


def read_release(row: Sequence[Any]) -> HubRelease:
    fields = dict(zip(HubRelease.__struct_fields__, row, strict=True))
    return HubRelease(**fields | {"reasons": _NAMES.decode(fields["reasons"])})


def read_version(row: Sequence[Any], tags: tuple[str, ...]) -> HubVersion:
    fields = dict(zip(_VERSION_FIELDS, row, strict=True))
    decoded = {name: _NAMES.decode(fields[name]) for name in ("reasons", "dependencies")}
    return HubVersion(**fields | decoded | {"files": read_files(fields["files"]), "tags": tags})


def _read_both(row: Sequence[Any], score: float = 0) -> HubListing:
    return HubListing(read_skill(row[:10]), read_release(row[10:21]), score)


def list_page(database: HubDatabase, sort: str, limit: int, cursor: str, *, prefix: str, owner: str) -> HubPage:
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
    return HubPage(items, _make_cursor(sort, items[-1].skill) if len(rows) > limit else "")


def search_skills(database: HubDatabase, query: str, limit: int) -> HubPage:
    """The skills whose name, summary or owner has words that begin as those of the query, best first."""
    words = find_significant_words(query)
    if not words:
        return HubPage(())
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
    return HubPage(tuple(_read_both(row, round(float(row[21]), 6)) for row in rows))


def _make_cursor(sort: str, skill: HubSkill) -> str:
    at = {"updated": skill.updated, "created": skill.created, "downloads": skill.downloads, "name": skill.slug}[sort]
    return base64.urlsafe_b64encode(msgspec.json.encode((sort, at, skill.id))).decode().rstrip("=")


def _parse_cursor(cursor: str, sort: str) -> tuple[str | int, int]:
    try:
        found, at, skill = _CURSOR.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise _bad_cursor() from error
    numbers = [value for value in (at, skill) if isinstance(value, int)]
    if found != sort or isinstance(at, str) != (sort == "name") or any(abs(number) >= 1 << 63 for number in numbers):
        raise _bad_cursor()
    return at, skill


def _bad_cursor() -> ClawftError:
    return ClawftError("hub-cursor", "This is no cursor of such a list", hint="Begin without one")


MAX_TAGS = 100  # of one skill


class VersionAdditions(Struct, frozen=True):
    """The fields that the hub itself adds to a version: time, publisher and zips."""

    created: int
    publisher: str
    archive: str
    archive_size: int
    download: str
    download_size: int
    bundle: str  # ClawHub's fingerprint of the download, which is what its command knows an installed copy by


def add_skill(execute: Execute, draft: PublicationDraft, checked: CheckedDraft, now: int) -> int:
    """The id of a skill; a new one where the owner has none of this name."""
    found = execute("SELECT id FROM hub_skill WHERE owner = ? AND slug = ?", (draft.owner, draft.slug))
    if found:
        return int(found[0][0])
    ((skill,),) = execute(
        """INSERT INTO hub_skill(owner, slug, display_name, summary, created, updated) VALUES (?, ?, ?, ?, ?, ?)
        RETURNING id""",
        (draft.owner, draft.slug, draft.display_name, checked.summary, now, now),
    )
    return int(skill)


def add_version(
    execute: Execute, skill: int, draft: PublicationDraft, checked: CheckedDraft, made: VersionAdditions
) -> None:
    """Write down a version, which bytes it needs, and its tags."""
    row: dict[str, Any] = {
        **msgspec.structs.asdict(checked),
        **msgspec.structs.asdict(made),
        "skill": skill,
        "version": draft.version,
        "changelog": draft.changelog,
        "files": _json(draft.files),
        "bytes": sum(file.size for file in draft.files),
        "reasons": _json(checked.reasons),
        "dependencies": _json(checked.dependencies),
        "candidate": int(not draft.tags or "latest" in draft.tags),
    }
    del row["summary"]  # of the skill
    marks = ", ".join("?" * len(row))
    statement = f"INSERT INTO hub_version({', '.join(row)}) VALUES ({marks}) RETURNING id"
    ((version,),) = execute(statement, tuple(row.values()))
    for sha256 in sorted({made.archive, made.download, *(file.sha256 for file in draft.files)}):
        execute("INSERT INTO hub_use(version, sha256) VALUES (?, ?)", (version, sha256))
    for tag in sorted({*draft.tags} - {"latest"}):
        set_tag(execute, skill, tag, draft.version)


def choose_latest(execute: Execute, skill: int) -> None:
    """The newest that is not yanked, of those that were meant to be the latest if there are any."""
    rows = execute("SELECT version, candidate FROM hub_version WHERE skill = ? AND yanked = ''", (skill,))
    meant = [version for version, candidate in rows if candidate] or [version for version, _ in rows]
    latest = max(meant, key=version_order, default="")
    execute("UPDATE hub_skill SET latest = ? WHERE id = ?", (latest, skill))
    set_tag(execute, skill, "latest", latest)


def set_tag(execute: Execute, skill: int, tag: str, version: str) -> None:
    """Raises: Refused, where a skill would have more than its answers can hold."""
    execute("DELETE FROM hub_tag WHERE skill = ? AND tag = ?", (skill, tag))
    if version:
        ((tags,),) = execute("SELECT count(*) FROM hub_tag WHERE skill = ?", (skill,))
        if tags >= MAX_TAGS and tag != "latest":
            raise Refused("hub-tag", f"The skill has {tags} tags, and may have no more", hint="Take one away first")
        execute("INSERT INTO hub_tag(skill, tag, version) VALUES (?, ?, ?)", (skill, tag, version))


def renew_skill(execute: Execute, skill: int, draft: PublicationDraft, checked: CheckedDraft, now: int) -> None:
    """Update a skill's name and summary from a version, if that is its latest."""
    execute("UPDATE hub_skill SET updated = ? WHERE id = ?", (now, skill))
    execute(
        "UPDATE hub_skill SET display_name = ?, summary = ? WHERE id = ? AND latest = ?",
        (draft.display_name, checked.summary, skill, draft.version),
    )


def update_search_words(execute: Execute, dialect: Literal["sqlite", "postgres"], skill: int) -> None:
    """Let it be found by its words; not at all when it is deleted, or has no version to give."""
    execute(f"DELETE FROM hub_text WHERE {'rowid' if dialect == 'sqlite' else 'skill'} = ?", (skill,))
    rows = execute(
        "SELECT slug, display_name, owner, summary FROM hub_skill WHERE id = ? AND deleted = 0 AND latest <> ''",
        (skill,),
    )
    for slug, display_name, owner, summary in rows:
        execute(_DESCRIBE[dialect], (skill, f"{slug.replace('-', ' ')} {display_name}", summary, owner))


_DESCRIBE = {
    "sqlite": "INSERT INTO hub_text(rowid, name, summary, tags) VALUES (?, ?, ?, ?)",
    "postgres": """INSERT INTO hub_text(skill, words) VALUES (?, setweight(to_tsvector('english', ?), 'A') ||
    setweight(to_tsvector('english', ?), 'C') || setweight(to_tsvector('english', ?), 'B'))""",
}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
