"""Operations on skills: list, show, search and scan; review, approve, revoke, block and enable."""

import os
from contextlib import AbstractContextManager
from typing import Any

import msgspec
from anyio import to_thread

from clawft.app.app import App, entry_name
from clawft.config.changes import SettingChange
from clawft.errors import ClawftError, NotFound, Refused
from clawft.scanner.batch import find_targets, scan_target
from clawft.scanner.findings import VERDICTS, Report
from clawft.scanner.reports.json import report_fields
from clawft.server.callers import DaemonCall
from clawft.server.daemon import Daemon, record_request
from clawft.server.protocol import skills as messages
from clawft.server.views.details import load_skill_file, view_skill_detail
from clawft.server.views.review import review_json
from clawft.server.views.skills import digest_of, view_skill
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.ranking import match_context
from clawft.trust.review import Review
from clawft.trust.status import SkillStatus

MAX_SCANNED = 100


async def list_skills(daemon: Daemon, _call: DaemonCall, request: messages.ListSkills) -> messages.SkillsList:
    described = await daemon.registry.describe()
    if not request.state:
        return described.answer
    matching = tuple(skill for skill in described.skills if skill.state == request.state)
    return msgspec.structs.replace(described.answer, skills=matching)


async def get_skill(daemon: Daemon, _call: DaemonCall, request: messages.GetSkill) -> messages.SkillAnswer:
    generation = await daemon.registry.live.refresh()
    app = generation.app
    detail = await to_thread.run_sync(lambda: view_skill_detail(app, app.get_skill(request.name)))
    return messages.SkillAnswer(generation=generation.number, skill=detail)


async def get_skill_file(daemon: Daemon, call: DaemonCall, request: messages.GetSkillFile) -> messages.SkillFile:
    """Raises: ClawftError."""
    app = (await daemon.registry.live.refresh()).app
    status = await to_thread.run_sync(app.get_skill, request.name)
    if not status.usable:
        call.caller.need("approve")  # only for callers who may decide about it
    return await to_thread.run_sync(load_skill_file, status, request.path, request.digest, limiter=daemon.reading)


async def search_skills(daemon: Daemon, _call: DaemonCall, request: messages.SearchSkills) -> messages.SkillsFound:
    app = (await daemon.registry.live.refresh()).app
    statuses = [skill for skill in app.skills if skill.found.skill and skill.state != "shadowed"]
    states = {id(status.found.skill): status.state for status in statuses}
    skills = [status.found.skill for status in statuses if status.found.skill]
    ranked = await to_thread.run_sync(match_context, request.query, skills, request.limit)
    results = tuple(
        messages.FoundSkill(
            name=hit.skill.name, score=hit.score, description=hit.skill.description, state=states[id(hit.skill)]
        )
        for hit in ranked
    )
    return messages.SkillsFound(query=request.query, results=results)


async def scan_skill(daemon: Daemon, call: DaemonCall, request: messages.ScanSkill) -> messages.ScanResult:
    """Raises: ClawftError."""
    if bool(request.name) == bool(request.path):
        raise ClawftError("request-invalid", "Name a skill, or give the path of a folder: one of both")
    if request.path:
        call.caller.need("admin")  # any folder of the machine
        reports = await to_thread.run_sync(_scan_path, request.path, limiter=daemon.installing)
    else:
        app = daemon.app
        reports = await to_thread.run_sync(
            lambda: [app.load_report(app.get_skill(request.name).found)], limiter=daemon.reading
        )
    results: tuple[dict[str, Any], ...] = tuple(msgspec.to_builtins(report_fields(report)) for report in reports)
    return messages.ScanResult(verdict=max((report.verdict for report in reports), key=VERDICTS.index), results=results)


def _scan_path(path: str) -> list[Report]:
    """Raises: ClawftError."""
    try:
        targets = find_targets(path) if os.path.isabs(path) else []
    except (OSError, ValueError) as error:
        raise NotFound("no-such-path", f"There is no such file or folder: {path}") from error
    if not 0 < len(targets) <= MAX_SCANNED:
        message = f"{len(targets)} skills are there" if targets else "A path is given whole, from the root"
        raise ClawftError("request-invalid", message, hint=f"At most {MAX_SCANNED} are scanned at a time")
    return [scan_target(target) for target in targets]


async def review_skill(daemon: Daemon, _call: DaemonCall, request: messages.ReviewSkill) -> messages.SkillReview:
    review = await to_thread.run_sync(_review, daemon.app.copy().refresh(), request.name)
    return messages.SkillReview(review=review_json(review))


async def approve_skill(daemon: Daemon, call: DaemonCall, request: messages.ApproveSkill) -> messages.SkillDecided:
    """Raises: Refused where the skill is not what was looked at."""

    def approve() -> None:
        app = daemon.app.copy().refresh()
        review = _review(app, request.name)
        if review.digest != request.digest:
            message = f"The skill '{request.name}' changed since it was looked at"
            raise Refused("approval-changed", message, path=review.found.file, hint="Look at it again, then decide")
        with _recorded(app, call, f"approve skill {request.name}"):
            app.reviewer.approve([review])

    await to_thread.run_sync(approve)
    return await _tell(daemon, request.name)


async def revoke_skill(daemon: Daemon, call: DaemonCall, request: messages.RevokeSkill) -> messages.SkillDecided:
    await to_thread.run_sync(_revoke, daemon.app.copy().refresh(), call, request.name)
    return await _tell(daemon, request.name)


async def block_skill(daemon: Daemon, call: DaemonCall, request: messages.BlockSkill) -> messages.SkillDecided:
    def block() -> None:
        app = daemon.app.copy().refresh()
        if not _has_namesake(app, app.get_skill(request.name)):
            _switch(app, call, request.name, enabled=False)
        _revoke(app, call, request.name)

    await to_thread.run_sync(block)
    return await _tell(daemon, request.name)


async def enable_skill(daemon: Daemon, call: DaemonCall, request: messages.EnableSkill) -> messages.SkillDecided:
    await to_thread.run_sync(lambda: _switch(daemon.app.copy().refresh(), call, request.name, enabled=True))
    return await _tell(daemon, request.name)


def _review(app: App, name: str) -> Review[DiscoveredSkill]:
    """Raises: ClawftError for a skill that needs no approval, or can have none."""
    status = app.get_skill(name)
    if status.state == "blocked":
        message = f"The skill '{status.name}' is blocked by the scanner: {status.reasons[0].message}"
        raise Refused("skill-blocked", message, path=status.found.file, hint=f"Run: weft skills why {status.name}")
    if not app.trust_policy.requires_approval(status.found):
        message = f"The skill '{status.name}' is yours, or came with weft: it needs no approval"
        raise ClawftError("approval-needless", message)
    app.trust_policy.check_key(status.found)
    return app.reviewer.review(status.found)


def _has_namesake(app: App, status: SkillStatus) -> bool:
    """Return whether an untrusted skill shares its name with another one that is in use: the config turns off all
    skills of a name."""
    others = (skill for skill in app.skills if skill.name == status.name and skill.found.folder != status.found.folder)
    return app.trust_policy.requires_approval(status.found) and any(
        other.usable or other.state == "shadowed" for other in others
    )


def _revoke(app: App, call: DaemonCall, name: str) -> None:
    folder = app.get_skill(name).found.folder
    with _recorded(app, call, f"revoke skill {name}"):
        app.reviewer.revoke_folders([folder])


def _switch(app: App, call: DaemonCall, name: str, *, enabled: bool) -> None:
    entry = entry_name(app, app.get_skill(name))
    with _recorded(app, call, f"{'enable' if enabled else 'disable'} skill {name}"):
        app.edit_config("user", [SettingChange(("skills", "entries", entry, "enabled"), enabled)])


def _recorded(app: App, call: DaemonCall, subject: str) -> AbstractContextManager[None]:
    """Record the request and its caller in the audit log; what it does is recorded under the same name."""
    app.audit.by = call.caller.name
    return record_request(app, call, subject)


async def _tell(daemon: Daemon, name: str) -> messages.SkillDecided:
    generation = await daemon.registry.live.reload()
    status = generation.app.get_skill(name)
    return messages.SkillDecided(skill=await to_thread.run_sync(lambda: view_skill(status, digest_of(status))))
