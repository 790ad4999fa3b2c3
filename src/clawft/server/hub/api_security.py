"""The hub's security verdicts on its skills, in ClawHub's format."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clawft.server.http.limits import WebError, read_json
from clawft.server.hub.api_read import is_signed, reason_codes, view_files, view_moderation, view_security
from clawft.server.hub.context import find_skill, get_hub, make_json_response, read_version
from clawft.server.hub.model import HubSkill, HubVersion

MAX_VERDICTS = 100
MAX_FILES = 5_000  # told of in one answer

_Tell = Callable[[HubSkill, HubVersion, str], dict[str, Any]]


class _Item(msgspec.Struct, frozen=True):
    slug: str
    version: str = ""
    ownerHandle: str | None = None  # noqa: N815  (as it is sent)


class _Items(msgspec.Struct, frozen=True):
    items: tuple[_Item, ...]


async def moderation(request: Request) -> Response:
    """Return the scanner's findings in the latest version."""
    hub = get_hub(request)
    skill = await find_skill(request, request.path_params["slug"])
    latest = await hub.read(hub.store.find_version, skill.id)
    if latest is None:
        return make_json_response({"moderation": None})
    severity = {"malicious": "critical", "suspicious": "warn", "clean": "info"}[latest.verdict]
    evidence = [
        {"code": code, "severity": severity, "file": "", "line": 0, "message": code, "evidence": ""}
        for code in reason_codes(latest)
    ]
    return make_json_response({"moderation": {**view_moderation(latest), "legacyReason": None, "evidence": evidence}})


async def scan(request: Request) -> Response:
    """Return the scanner's verdict on one version."""
    skill = await find_skill(request, request.path_params["slug"])
    version = await read_version(request, skill)
    return make_json_response(
        {
            "skill": {"slug": skill.slug, "displayName": skill.display_name},
            "version": {"version": version.version, "createdAt": version.created, "changelog": version.changelog},
            "moderation": {
                "scope": "skill",
                "sourceVersion": {"version": version.version, "createdAt": version.created},
                "matchesRequestedVersion": True,
                "isPendingScan": False,
                "isMalwareBlocked": version.verdict == "malicious",
                "isSuspicious": version.verdict == "suspicious",
                "isHiddenByMod": False,
                "isRemoved": skill.deleted,
            },
            "security": view_security(version),
        }
    )


async def verify(request: Request) -> Response:
    """Return whether a version may be used, and every file it is made of."""
    skill = await find_skill(request, request.path_params["slug"])
    version = await read_version(request, skill)
    tag = request.query_params.get("tag") or None
    named = "version" if request.query_params.get("version") else "tag" if tag else "latest"
    verification = _verify(skill, version, get_hub(request).address(request))
    return make_json_response({**verification, "resolvedFrom": named, "tag": tag if named == "tag" else None})


def _verify(skill: HubSkill, version: HubVersion, address: str) -> dict[str, Any]:
    return {
        "schema": "clawhub.skill.verify.v1",
        **_judge(skill, version, address),
        "changelog": version.changelog,
        "card": {"available": False, "path": "skill-card.md", "url": None, "sha256": None, "size": None},
        "artifact": {
            "sourceFingerprint": version.fingerprint or None,
            "bundleFingerprints": list(filter(None, (version.fingerprint, version.bundle))),
            "files": view_files(version.files),
            # A hub of our own says at once what else the index would have to be asked for.
            "archive": {
                "url": f"../../agent-skills/{skill.owner}/{skill.slug}/archive?version={quote(version.version)}",
                "digest": f"sha256:{version.archive}",
            },
        },
        "provenance": {"source": "unavailable"},
        "signature": {"status": "signed" if is_signed(version) else "unsigned"},
    }


def _judge(skill: HubSkill, version: HubVersion, address: str) -> dict[str, Any]:
    passed = version.verdict == "clean" and not version.yanked
    reasons = []
    if version.verdict == "malicious":
        reasons.append("moderation.malware_blocked")
    if version.verdict != "clean":
        reasons.append("security.status_not_clean")
    if version.yanked:
        reasons.append("version.yanked")
    return {
        "ok": passed,
        "decision": "pass" if passed else "fail",
        "reasons": reasons,
        "slug": skill.slug,
        "displayName": skill.display_name,
        "pageUrl": f"{address}/@{skill.owner}/{skill.slug}",
        "publisherHandle": skill.owner,
        "publisherDisplayName": skill.owner,
        "publisherProfileUrl": f"{address}/@{skill.owner}",
        "version": version.version,
        "createdAt": version.created,
        "yanked": version.yanked or None,
        "security": {
            "status": version.verdict,
            "passed": version.verdict == "clean",
            "rawStatus": version.verdict,
            "verdict": version.verdict,
            "confidence": None,
            "summary": view_moderation(version)["summary"],
            "model": None,
            "checkedAt": version.created,
            "signals": {
                "staticScan": {
                    "status": version.verdict,
                    "reasonCodes": reason_codes(version),
                    "engineVersion": version.engine,
                },
                "virusTotal": None,
                "skillSpector": None,
                "dependencyRegistry": None,
            },
        },
    }


async def security_verdicts(request: Request) -> Response:
    """Return the hub's verdicts on up to a hundred versions at once, for a lock file."""
    items = await _look_up_all(request, _judge)
    return make_json_response({"schema": "clawhub.skill.security-verdicts.v1", "items": items})


async def verify_all(request: Request) -> Response:
    """The same with every file: `verify` of up to a hundred versions at once, which only a hub of our own has."""
    room = MAX_FILES

    def tell(skill: HubSkill, version: HubVersion, address: str) -> dict[str, Any]:
        nonlocal room
        room -= len(version.files)
        return _verify(skill, version, address) if room >= 0 else _unknown("TOO_MANY_FILES", "Ask for it by itself")

    return make_json_response({"schema": "clawft.hub.verify.v1", "items": await _look_up_all(request, tell)})


async def _look_up_all(request: Request, tell: _Tell) -> list[dict[str, Any]]:
    """Raises: WebError."""
    try:
        asked = msgspec.convert(await read_json(request), _Items).items
    except msgspec.ValidationError as error:
        raise WebError(400, f"items: {error}") from error
    if not 0 < len(asked) <= MAX_VERDICTS:
        raise WebError(400, f"items must have 1 to {MAX_VERDICTS} entries")
    hub = get_hub(request)
    address = hub.address(request)
    return await hub.work(lambda: [_look_up(hub.store, requested, address, tell) for requested in asked])


def _look_up(store: Any, item: _Item, address: str, tell: _Tell) -> dict[str, Any]:
    asked = {"requestedSlug": item.slug, "requestedOwnerHandle": item.ownerHandle, "requestedVersion": item.version}
    owner = (item.ownerHandle or "").removeprefix("@").lower()
    found = store.find(item.slug.lower(), owner)
    there = [skill for skill in found if not skill.deleted]
    if len(there) != 1:
        code, message = (
            ("AMBIGUOUS_SKILL_SLUG", "Several owners have it") if there else ("NOT_FOUND", "Skill not found")
        )
        if found and not there:
            code, message = "DELETED", "Skill was deleted"
        return {**asked, **_unknown(code, message)}
    version = store.find_version(there[0].id, item.version)
    if version is None:
        return {**asked, **_unknown("VERSION_NOT_FOUND", "Version not found")}
    return {**asked, **tell(there[0], version, address)}


def _unknown(code: str, message: str) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return {"ok": False, "decision": "fail", "reasons": [code.lower()], "error": error, "security": None}


_SKILL = "/api/v1/skills/{slug}"
SECURITY = [
    Route("/api/v1/skills/-/security-verdicts", security_verdicts, methods=["POST"]),
    Route("/api/v1/skills/-/verify", verify_all, methods=["POST"]),
    Route(f"{_SKILL}/moderation", moderation),
    Route(f"{_SKILL}/scan", scan),
    Route(f"{_SKILL}/verify", verify),
]
