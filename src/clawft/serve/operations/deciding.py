"""Decisions about skills, as a person makes them: looked at first, bound to a digest, written to the log."""

from contextlib import AbstractContextManager

from anyio import to_thread

from clawft.app import App
from clawft.config.edit import Change
from clawft.describe.entries import entry_name
from clawft.describe.reviews import review_json
from clawft.describe.skills import describe_skill, digest_of
from clawft.errors import ClawftError, Refused
from clawft.protocol.base import Request
from clawft.protocol.deciding import (
    ApproveSkill,
    BlockSkill,
    EnableSkill,
    ReviewSkill,
    RevokeSkill,
    SkillDecided,
    SkillReview,
)
from clawft.protocol.skills import SkillSummary
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler, record_request
from clawft.trust import Standing
from clawft.trust.review import Review

__all__ = ["HANDLERS"]


async def review_skill(daemon: Daemon, _call: Call, request: ReviewSkill) -> SkillReview:
    review = await to_thread.run_sync(_review, daemon.app.reopen(), request.name)
    return SkillReview(review=review_json(review))


async def approve_skill(daemon: Daemon, call: Call, request: ApproveSkill) -> SkillDecided:
    """Raises: Refused where the skill is not what was looked at."""

    def approve() -> None:
        app = daemon.app.reopen()
        review = _review(app, request.name)
        if review.digest != request.digest:
            message = f"The skill '{request.name}' changed since it was looked at"
            raise Refused("approval-changed", message, path=review.found.file, hint="Look at it again, then decide")
        with _recorded(app, call, f"approve skill {request.name}"):
            app.desk.approve([review])

    await to_thread.run_sync(approve)
    return await _tell(daemon, request.name)


async def revoke_skill(daemon: Daemon, call: Call, request: RevokeSkill) -> SkillDecided:
    await to_thread.run_sync(_revoke, daemon.app.reopen(), call, request.name)
    return await _tell(daemon, request.name)


async def block_skill(daemon: Daemon, call: Call, request: BlockSkill) -> SkillDecided:
    def block() -> None:
        app = daemon.app.reopen()
        if not _has_namesake(app, app.get_skill(request.name)):
            _switch(app, call, request.name, enabled=False)
        _revoke(app, call, request.name)

    await to_thread.run_sync(block)
    return await _tell(daemon, request.name)


async def enable_skill(daemon: Daemon, call: Call, request: EnableSkill) -> SkillDecided:
    await to_thread.run_sync(lambda: _switch(daemon.app.reopen(), call, request.name, enabled=True))
    return await _tell(daemon, request.name)


def _review(app: App, name: str) -> Review:
    """Raises: ClawftError for a skill that needs no approval, or can have none."""
    standing = app.get_skill(name)
    if standing.state == "blocked":
        message = f"The skill '{standing.name}' is blocked by the scanner: {standing.reasons[0].message}"
        raise Refused("skill-blocked", message, path=standing.found.file, hint=f"Run: weft skills why {standing.name}")
    if not app.strangers.is_strange(standing.found):
        message = f"The skill '{standing.name}' is yours, or came with weft: it needs no approval"
        raise ClawftError("approval-needless", message)
    app.strangers.check_key(standing.found)
    return app.desk.review(standing.found)


def _has_namesake(app: App, standing: Standing) -> bool:
    """Whether the name of a stranger's skill is that of another which is used: the config turns off all of a name."""
    others = (one for one in app.skills if one.name == standing.name and one.found.folder != standing.found.folder)
    return app.strangers.is_strange(standing.found) and any(one.usable or one.state == "shadowed" for one in others)


def _revoke(app: App, call: Call, name: str) -> None:
    folder = app.get_skill(name).found.folder
    with _recorded(app, call, f"revoke skill {name}"):
        app.desk.revoke_folders([folder])


def _switch(app: App, call: Call, name: str, *, enabled: bool) -> None:
    entry = entry_name(app, app.get_skill(name))
    with _recorded(app, call, f"{'enable' if enabled else 'disable'} skill {name}"):
        app.edit_config("user", [Change(("skills", "entries", entry, "enabled"), enabled)])


def _recorded(app: App, call: Call, subject: str) -> AbstractContextManager[None]:
    """Write down who asked for it; what comes of it is written by whoever does it, under the same name."""
    app.audit.by = call.caller.name
    return record_request(app, call, subject)


async def _tell(daemon: Daemon, name: str) -> SkillDecided:
    generation = await daemon.registry.live.reload()
    standing = generation.app.get_skill(name)
    return SkillDecided(skill=await to_thread.run_sync(_describe, standing))


def _describe(standing: Standing) -> SkillSummary:
    return describe_skill(standing, digest_of(standing))


HANDLERS: dict[type[Request], Handler] = {
    ReviewSkill: review_skill,
    ApproveSkill: approve_skill,
    RevokeSkill: revoke_skill,
    BlockSkill: block_skill,
    EnableSkill: enable_skill,
}
