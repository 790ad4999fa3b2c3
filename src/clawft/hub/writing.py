"""The rows that a publication writes: each function works within the transaction of its caller."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.errors import Refused
from clawft.hub.database import Execute
from clawft.hub.model import Checked, Draft
from clawft.hub.versions import version_order

__all__ = ["Made", "add_skill", "add_version", "choose_latest", "describe_skill", "renew_skill", "set_tag"]

MAX_TAGS = 100  # of one skill


class Made(Struct, frozen=True):
    """What the hub itself adds to a version: when, by whom, and the zips."""

    created: int
    publisher: str
    archive: str
    archive_size: int
    download: str
    download_size: int
    bundle: str  # ClawHub's fingerprint of the download, which is what its command knows an installed copy by


def add_skill(execute: Execute, draft: Draft, checked: Checked, now: int) -> int:
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


def add_version(execute: Execute, skill: int, draft: Draft, checked: Checked, made: Made) -> None:
    """Write down a version, which bytes it needs, and its tags."""
    row: dict[str, Any] = {
        "skill": skill,
        "version": draft.version,
        "changelog": draft.changelog,
        "files": _json(draft.files),
        "bytes": sum(file.size for file in draft.files),
        "digest": checked.digest,
        "fingerprint": checked.fingerprint,
        "verdict": checked.verdict,
        "reasons": _json(checked.reasons),
        "engine": checked.engine,
        "front": checked.front,
        "dependencies": _json(checked.dependencies),
        "candidate": int(not draft.tags or "latest" in draft.tags),
        **msgspec.structs.asdict(made),
    }
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


def renew_skill(execute: Execute, skill: int, draft: Draft, checked: Checked, now: int) -> None:
    """What is said of a skill is what its latest version says."""
    execute("UPDATE hub_skill SET updated = ? WHERE id = ?", (now, skill))
    execute(
        "UPDATE hub_skill SET display_name = ?, summary = ? WHERE id = ? AND latest = ?",
        (draft.display_name, checked.summary, skill, draft.version),
    )


def describe_skill(execute: Execute, dialect: Literal["sqlite", "postgres"], skill: int) -> None:
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
