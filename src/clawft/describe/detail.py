"""All there is to know about one skill, as other programs read it."""

import os
from typing import Any

import msgspec

from clawft.app import App
from clawft.describe.entries import entry_of
from clawft.describe.reviews import brought_json, is_executable, walk_files
from clawft.describe.scanned import load_scanned, scanned_json
from clawft.describe.skills import describe_skill, digest_of
from clawft.discovery import Found
from clawft.discovery.hooks import load_skill_hooks
from clawft.errors import ClawftError
from clawft.format.model import Skill
from clawft.protocol.base import to_problem
from clawft.protocol.skills import FileEntry, SkillDetail, SkillSummary
from clawft.trust import Standing

__all__ = ["all_fields", "describe_whole", "load_body"]

MAX_FILES = 2_000
_BUDGET = 12_000  # DESIGN.md: what the catalog of a model that is not known may take


def describe_whole(app: App, standing: Standing) -> SkillDetail:
    """A skill with its text, its files, what the scanner says of it, and its line in the catalog of a model."""
    found, digest = standing.found, digest_of(standing)
    fields = all_fields(standing, describe_skill(standing, digest))
    fields["brings_hooks"] = brought_json(load_skill_hooks([found]), found.skill, found.file)
    entry = entry_of(app, standing)
    return SkillDetail(
        summary=describe_skill(standing, digest),
        fields=fields,
        body=load_body(app, found),
        model_sees=_line_of(standing),
        files=_list_files(found.base_dir),
        scan=scanned_json(load_scanned(app, standing)),
        diagnostics=tuple(map(to_problem, (*app.diagnose(found), *digest.diagnostics))),
        strange=app.strangers.is_strange(found),
        enabled=entry.enabled,
        pinned=entry.pinned,
    )


def all_fields(standing: Standing, summary: SkillSummary) -> dict[str, Any]:
    """Every field of a skill that its summary does not have."""
    skill = standing.found.skill or Skill(name=standing.name)
    hidden = {"prompt", "diagnostics", *summary.__struct_fields__}
    others = {name: getattr(skill, name) for name in skill.__struct_fields__ if name not in hidden}
    fields: dict[str, Any] = msgspec.to_builtins(others)
    return fields


def load_body(app: App, found: Found) -> str:
    """The text of a skill as it stands there; '' for what cannot be read: the diagnostics say why."""
    try:
        return app.load_prompt(found).prompt or ""
    except ClawftError:
        return ""


def _line_of(standing: Standing) -> str:
    """What a model is told of it before it loads it; '' for what no model is told of."""
    from clawft.run.assemble import describe_offered  # they bring all of a turn, which a command does without
    from clawft.run.catalog import render_catalog

    skill = standing.found.skill
    if skill is None or not standing.offered:
        return ""
    return render_catalog([(skill.name, describe_offered(standing))], _BUDGET).text


def _list_files(folder: str) -> tuple[FileEntry, ...]:
    names = walk_files(folder)[:MAX_FILES] if folder else []
    return tuple(
        FileEntry(path=name, size=_size(os.path.join(folder, name)), executable=is_executable(folder, name))
        for name in names
    )


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # it went away meanwhile
        return 0
