"""JSON documents of install plans: each skill, its target, its effects, and what blocks installing it."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import structs

from clawft.app.app import App
from clawft.config import SkillEntry
from clawft.errors import Diagnostic
from clawft.install.transaction.installation import Transaction
from clawft.install.transaction.plan import PlannedSkill, worst_verdict
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.review import review_json
from clawft.skills.discovery import check_requirements


def planned_json(transaction: Transaction, one: PlannedSkill) -> dict[str, Any]:
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
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in (*one.notes, *one.objections)],
    }


def find_unmet(app: App, one: PlannedSkill) -> tuple[Diagnostic, ...]:
    """Return the requirements that this machine does not meet. Required skills are left out: they came with it."""
    skill, entries = one.staged.found.skill, app.config.skills.entries
    if skill is None:
        return ()
    entry = entries.get(skill.name) or entries.get(skill.skill_key) or SkillEntry()
    return tuple(need for need in check_requirements(skill, app.host, entry) if need.code != "requires-skill")


def list_objections(named: Iterable[tuple[str, Sequence[Diagnostic]]], what: str = "installed") -> list[Diagnostic]:
    """List everything that keeps any of them from being `what`, each with the name it is about."""
    return [
        structs.replace(diagnostic, message=f"'{name}' is not {what}: {diagnostic.message}")
        for name, diagnostics in named
        for diagnostic in diagnostics
    ]


def name_plan(transaction: Transaction, plans: Sequence[PlannedSkill]) -> str:
    """Return an identifier of exactly these skills, sources and places; another plan has another one."""
    facts = [(*_identify(plan), *(transaction.site.folder(client, plan.name) for client in plan.to)) for plan in plans]
    return "sha256:" + hashlib.sha256(msgspec.json.encode(sorted(facts))).hexdigest()


def _identify(one: PlannedSkill) -> tuple[str, ...]:
    resolved = one.staged.resolved
    return one.name, one.staged.digest, resolved.origin.line, resolved.version, resolved.commit
