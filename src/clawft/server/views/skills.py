"""A skill as other programs read it: the objects of `clawft.skills.list.v1`."""

from typing import Any

from msgspec import structs

from clawft.server.protocol.base import copy_fields, to_problem
from clawft.server.protocol.skills import Requires, SkillSummary, Tokens
from clawft.skills.discovery.digest import Digest, compute_digest
from clawft.skills.parse.model import Skill
from clawft.trust.status import SkillStatus


def tokens_of(skill: Skill) -> Tokens:
    """About how many tokens the skill costs in a catalog, and when its body is loaded (four bytes each)."""
    catalog = len(f"- {skill.name}: {skill.description} {skill.when_to_use}".strip())
    return Tokens(catalog=-(-catalog // 4), body=-(-skill.body_bytes // 4))


def digest_of(status: SkillStatus) -> Digest:
    """The digest of a skill's folder; a folder whose skill cannot be read has none."""
    return compute_digest(status.found.folder) if status.found.skill else Digest("")


def view_skill(status: SkillStatus, digest: Digest) -> SkillSummary:
    """The summary of one skill."""
    found = status.found
    skill = found.skill or Skill(name=found.name)
    return copy_fields(
        SkillSummary,
        skill,
        display_name=skill.display_name or skill.name,
        scope=found.location.scope,
        layer=found.location.layer,
        path=found.file,
        digest=digest.value or None,
        state=status.state,
        reasons=tuple(map(to_problem, status.reasons)),
        model_invocable=not skill.disable_model_invocation,
        requires=copy_fields(Requires, skill.requires),
        emoji=skill.emoji or None,
        homepage=skill.homepage or None,
        tokens=tokens_of(skill),
    )


def skill_json(status: SkillStatus, digest: Digest) -> dict[str, Any]:
    """Return a skill as the fields of a document."""
    return structs.asdict(view_skill(status, digest))
