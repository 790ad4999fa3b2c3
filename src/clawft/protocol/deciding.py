"""Decisions about skills: what a person is to see, approving, taking back, blocking, enabling."""

from typing import Annotated, Any

from msgspec import Meta

from clawft.protocol.base import Answer, Name, Request
from clawft.protocol.skills import SkillSummary

__all__ = ["ApproveSkill", "BlockSkill", "EnableSkill", "ReviewSkill", "RevokeSkill", "SkillDecided", "SkillReview"]

_Digest = Annotated[str, Meta(min_length=1, max_length=200)]


class ReviewSkill(Request, frozen=True, kw_only=True, tag="review_skill"):
    """What a person is to see before they approve a stranger's skill: what it could do, and what changed since."""

    name: Name


class SkillReview(Answer, frozen=True, kw_only=True, tag="skill_review"):
    """`review` is as `weft skills trust --format json` gives it; its `digest` is what an approval is bound to."""

    review: dict[str, Any]


class ApproveSkill(Request, frozen=True, kw_only=True, tag="approve_skill"):
    """Approve a skill as it was reviewed. With another digest than it has now, nothing is approved."""

    name: Name
    digest: _Digest


class RevokeSkill(Request, frozen=True, kw_only=True, tag="revoke_skill"):
    """Take the approval of a skill back."""

    name: Name


class BlockSkill(Request, frozen=True, kw_only=True, tag="block_skill"):
    """Keep a skill from use by anybody: it is disabled in the config, and its approval is taken back. Of a stranger's
    that has the name of another which can be used, only the approval is: the config turns off all of a name."""

    name: Name


class EnableSkill(Request, frozen=True, kw_only=True, tag="enable_skill"):
    """Let a skill that was disabled be used again; a stranger's still needs its approval."""

    name: Name


class SkillDecided(Answer, frozen=True, kw_only=True, tag="skill_decided"):
    """How the skill stands now."""

    skill: SkillSummary
