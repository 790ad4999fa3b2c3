"""A skill as other programs read it: the objects of `clawft.skills.list.v1` (DESIGN.md)."""

from typing import Any

import msgspec

from clawft.describe.diagnostics import to_json
from clawft.discovery.digest import Digest, compute_digest
from clawft.format.model import Skill
from clawft.trust import Standing

__all__ = ["digest_of", "skill_json", "tokens_of"]


def tokens_of(skill: Skill) -> dict[str, int]:
    """About how many tokens the skill costs in a catalog, and when its body is loaded (four bytes each)."""
    catalog = len(f"- {skill.name}: {skill.description} {skill.when_to_use}".strip())
    return {"catalog": -(-catalog // 4), "body": -(-skill.body_bytes // 4)}


def digest_of(standing: Standing) -> Digest:
    """The digest of a skill's folder; a folder whose skill cannot be read has none."""
    return compute_digest(standing.found.folder) if standing.found.skill else Digest("")


def skill_json(standing: Standing, digest: Digest) -> dict[str, Any]:
    """The summary of one skill."""
    found = standing.found
    skill = found.skill or Skill(name=found.name)
    return {
        "name": skill.name,
        "display_name": skill.display_name or skill.name,
        "description": skill.description,
        "version": skill.version,
        "scope": found.location.scope,
        "layer": found.location.layer,
        "format": skill.format,
        "path": found.file,
        "digest": digest.value or None,
        "state": standing.state,
        "reasons": [to_json(reason) for reason in standing.reasons],
        "user_invocable": skill.user_invocable,
        "model_invocable": not skill.disable_model_invocation,
        "context": skill.context,
        "allowed_tools": skill.allowed_tools,
        "requires": msgspec.to_builtins(msgspec.structs.asdict(skill.requires)),
        "emoji": skill.emoji or None,
        "homepage": skill.homepage or None,
        "tokens": tokens_of(skill),
    }
