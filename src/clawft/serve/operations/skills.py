"""Skills as they are told of: all of them, one whole, those that fit, and what the scanner says."""

import os
from typing import Any

import msgspec
from anyio import to_thread

from clawft.app import App
from clawft.describe.detail import describe_whole
from clawft.describe.files import load_skill_file
from clawft.discovery.ranking import match_context
from clawft.errors import ClawftError, NotFound
from clawft.protocol.base import Request
from clawft.protocol.skills import (
    FoundSkill,
    GetSkill,
    GetSkillFile,
    ListSkills,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillAnswer,
    SkillFile,
    SkillsFound,
    SkillsList,
)
from clawft.scan.batch import scan_target
from clawft.scan.findings import VERDICTS, Report
from clawft.scan.reports.json import report_fields
from clawft.scan.targets import find_targets
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler

__all__ = ["HANDLERS"]

MAX_SCANNED = 100


async def list_skills(daemon: Daemon, _call: Call, request: ListSkills) -> SkillsList:
    described = await daemon.registry.describe()
    if not request.state:
        return described.answer
    kept = tuple(one for one in described.skills if one.state == request.state)
    return msgspec.structs.replace(described.answer, skills=kept)


async def get_skill(daemon: Daemon, _call: Call, request: GetSkill) -> SkillAnswer:
    generation = await daemon.registry.live.refresh()
    app = generation.app
    detail = await to_thread.run_sync(lambda: describe_whole(app, app.get_skill(request.name)))
    return SkillAnswer(generation=generation.number, skill=detail)


async def get_skill_file(daemon: Daemon, call: Call, request: GetSkillFile) -> SkillFile:
    """Raises: ClawftError."""
    app = (await daemon.registry.live.refresh()).app
    standing = await to_thread.run_sync(app.get_skill, request.name)
    if not standing.usable:
        call.caller.need("approve")  # whoever decides about it
    return await to_thread.run_sync(load_skill_file, standing, request.path, request.digest, limiter=daemon.reading)


async def search_skills(daemon: Daemon, _call: Call, request: SearchSkills) -> SkillsFound:
    app = (await daemon.registry.live.refresh()).app
    standings = [one for one in app.skills if one.found.skill and one.state != "shadowed"]
    states = {id(one.found.skill): one.state for one in standings}
    skills = [one.found.skill for one in standings if one.found.skill]
    ranked = await to_thread.run_sync(match_context, request.query, skills, request.limit)
    results = tuple(
        FoundSkill(name=one.skill.name, score=one.score, description=one.skill.description, state=states[id(one.skill)])
        for one in ranked
    )
    return SkillsFound(query=request.query, results=results)


async def scan_skill(daemon: Daemon, call: Call, request: ScanSkill) -> ScanResult:
    """Raises: ClawftError."""
    if bool(request.name) == bool(request.path):
        raise ClawftError("request-invalid", "Name a skill, or give the path of a folder: one of both")
    if request.path:
        call.caller.need("admin")  # any folder of the machine
        reports = await to_thread.run_sync(_scan_path, request.path, limiter=daemon.installing)
    else:
        reports = await to_thread.run_sync(_scan_named, daemon.app, request.name, limiter=daemon.reading)
    results: tuple[dict[str, Any], ...] = tuple(msgspec.to_builtins(report_fields(one)) for one in reports)
    return ScanResult(verdict=max((one.verdict for one in reports), key=VERDICTS.index), results=results)


def _scan_named(app: App, name: str) -> list[Report]:
    """Raises: ClawftError."""
    return [app.load_report(app.get_skill(name).found)]


def _scan_path(path: str) -> list[Report]:
    """Raises: ClawftError."""
    try:
        targets = find_targets(path) if os.path.isabs(path) else []
    except (OSError, ValueError) as error:
        raise NotFound("no-such-path", f"There is no such file or folder: {path}") from error
    if not 0 < len(targets) <= MAX_SCANNED:
        message = f"{len(targets)} skills are there" if targets else "A path is given whole, from the root"
        raise ClawftError("request-invalid", message, hint=f"At most {MAX_SCANNED} are scanned at a time")
    return [scan_target(one) for one in targets]


HANDLERS: dict[type[Request], Handler] = {
    ListSkills: list_skills,
    GetSkill: get_skill,
    GetSkillFile: get_skill_file,
    SearchSkills: search_skills,
    ScanSkill: scan_skill,
}
