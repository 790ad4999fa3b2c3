"""Skills that are to be installed, as other programs read them: the objects of `clawft.skills.install.v1`."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import structs

from clawft.app import App
from clawft.config import SkillEntry
from clawft.describe.diagnostics import to_json
from clawft.describe.reviews import review_json
from clawft.discovery import check_requirements
from clawft.errors import Diagnostic
from clawft.supply.install import Transaction
from clawft.supply.plan import Planned, worst_verdict

__all__ = ["find_unmet", "list_objections", "name_plan", "planned_json"]


def planned_json(transaction: Transaction, one: Planned) -> dict[str, Any]:
    """One skill: what it is, where it goes, what it could do, and what speaks against it."""
    resolved = one.staged.resolved
    origin = resolved.origin
    return {
        "name": one.name,
        "version": resolved.version,
        "previous_version": one.old.version if one.old else None,
        "changelog": resolved.changelog,
        "commit": resolved.commit,
        "source": {name: getattr(origin, name) for name in origin.__struct_fields__},
        "digest": one.staged.digest,
        "previous_digest": one.old.digest if one.old else None,
        "verdict": worst_verdict(one.staged, one.review),
        "requested": one.requested,
        "dependencies": one.dependencies,
        "signature": {name: getattr(one.signature, name) for name in one.signature.__struct_fields__},
        "same": one.is_same,
        "paths": {client: transaction.site.folder(client, one.name) for client in one.to},
        "review": {**review_json(one.review), "path": transaction.site.folder(one.to[0], one.name)},
        "diagnostics": [to_json(said) for said in (*one.said, *one.objections)],
    }


def find_unmet(app: App, one: Planned) -> tuple[Diagnostic, ...]:
    """What a skill still needs of this machine; other skills that it needs came with it, or it would not be here."""
    skill, entries = one.staged.found.skill, app.config.skills.entries
    if skill is None:
        return ()
    entry = entries.get(skill.name) or entries.get(skill.skill_key) or SkillEntry()
    return tuple(need for need in check_requirements(skill, app.host, entry) if need.code != "requires-skill")


def list_objections(named: Iterable[tuple[str, Sequence[Diagnostic]]], what: str = "installed") -> list[Diagnostic]:
    """All that keeps any of them from being `what`, each with the name it is about."""
    return [
        structs.replace(one, message=f"'{name}' is not {what}: {one.message}") for name, said in named for one in said
    ]


def name_plan(transaction: Transaction, plans: Sequence[Planned]) -> str:
    """What stands for exactly these skills, from there, in these places: another plan has another."""
    facts = [(*_identify(one), *(transaction.site.folder(client, one.name) for client in one.to)) for one in plans]
    return "sha256:" + hashlib.sha256(msgspec.json.encode(sorted(facts))).hexdigest()


def _identify(one: Planned) -> tuple[str, ...]:
    resolved = one.staged.resolved
    return one.name, one.staged.digest, resolved.origin.line, resolved.version, resolved.commit
