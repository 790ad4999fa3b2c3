"""The read endpoints of ClawHub's interface, and the JSON of skills and versions."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from clawft.server.http.limits import WebError
from clawft.server.hub.context import (
    find_skill,
    get_hub,
    make_json_response,
    parse_number,
    parse_owner,
    parse_search,
    read_version,
    send_blob,
)
from clawft.server.hub.model import HubFile, HubListing, HubRelease, HubSkill, HubVersion

Answer = dict[str, Any]
MAX_LINE = 500  # of a changelog in a list


def view_owner(owner: str) -> Answer:
    return {"handle": owner, "displayName": owner, "image": None}


def view_item(skill: HubSkill, latest: HubRelease | None, tags: dict[str, str]) -> Answer:
    """A skill as a list has it; a client takes no list in which `latestVersion` is null."""
    found: Answer = {
        "slug": skill.slug,
        "ownerHandle": skill.owner,
        "displayName": skill.display_name,
        "summary": skill.summary or None,
        "tags": tags,
        "topics": [],
        "stats": {"downloads": skill.downloads, "stars": 0, "versions": 0, "installsCurrent": 0, "installsAllTime": 0},
        "createdAt": skill.created,
        "updatedAt": skill.updated,
        "metadata": None,
    }
    if latest is not None:
        found["latestVersion"] = view_version_brief(latest)
    return found


def view_detail(skill: HubSkill, latest: HubVersion | None, tags: dict[str, str]) -> Answer:
    item = view_item(skill, None, tags)
    return {
        "skill": item,
        "latestVersion": view_version_line(latest) if latest else None,
        "metadata": None,
        "owner": view_owner(skill.owner),
        "moderation": view_moderation(latest) if latest else None,
    }


def view_version_line(version: HubVersion | HubRelease) -> Answer:
    """A version without its files. The clients know one license, and the hub asks for none."""
    return {
        "version": version.version,
        "createdAt": version.created,
        "changelog": version.changelog,
        "changelogSource": "user",
        "license": None,
        "yanked": version.yanked or None,
    }


def view_version_brief(version: HubRelease) -> Answer:
    """The same in a list, which may have two hundred of them: how a changelog begins."""
    line = view_version_line(version)
    if len(version.changelog) > MAX_LINE:
        line["changelog"] = f"{version.changelog[: MAX_LINE - 1]}…"
    return line


def view_version(skill: HubSkill, version: HubVersion) -> Answer:
    return {
        "skill": {"slug": skill.slug, "displayName": skill.display_name, "ownerHandle": skill.owner},
        "version": {
            **view_version_line(version),
            "files": view_files(version.files),
            "digest": f"sha256:{version.archive}",
            "dependencies": list(version.dependencies),
            "security": view_security(version),
        },
    }


def view_files(files: Sequence[HubFile]) -> list[Answer]:
    return [
        {
            "path": file.path,
            "size": file.size,
            "sha256": file.sha256,
            "contentType": file.content_type,
            "executable": file.executable,
        }
        for file in files
    ]


def view_moderation(version: HubVersion) -> Answer:
    """Return the scanner's verdict at publication. A malicious version is never accepted."""
    return {
        "isSuspicious": version.verdict == "suspicious",
        "isMalwareBlocked": version.verdict == "malicious",
        "verdict": version.verdict,
        "reasonCodes": reason_codes(version),
        "updatedAt": version.created,
        "engineVersion": version.engine or None,
        "summary": _summarize(version),
    }


def view_security(version: HubVersion) -> Answer:
    return {
        "status": version.verdict,
        "hasWarnings": version.verdict != "clean",
        "checkedAt": version.created,
        "model": None,
        "hasScanResult": True,
        "sha256hash": version.archive,
        "virustotalUrl": None,
        "scanners": {"clawft": {"status": version.verdict, "engineVersion": version.engine}},
    }


def is_signed(version: HubVersion) -> bool:
    """Return whether it brings a signature; whose it is, and whether it holds, is for the client to say."""
    return any(file.path == ".clawft-signature" for file in version.files)


def reason_codes(version: HubVersion) -> list[str]:
    return [f"{version.verdict}.{rule}" for rule in version.reasons] if version.verdict != "clean" else []


def _summarize(version: HubVersion) -> str | None:
    if version.verdict == "clean":
        return None
    return f"The hub's scanner calls it {version.verdict}: {', '.join(version.reasons)}"


MAX_PREVIEW = 200 * 1024
# ClawHub's orders; what this hub does not count is ordered by what comes nearest.
_SORTS = {
    "updated": "updated",
    "recommended": "updated",
    "createdAt": "created",
    "newest": "created",
    "downloads": "downloads",
    "stars": "downloads",
    "installsCurrent": "downloads",
    "installsAllTime": "downloads",
    "trending": "downloads",
    "name": "name",
}


async def search(request: Request) -> Response:
    """Skills that fit a query, best first."""
    hub = get_hub(request)
    query = parse_search(request)
    limit = parse_number(request, "limit", 25, 200)
    if request.query_params.get("mode") == "exact":
        found = await hub.read(hub.store.find, query.removeprefix("@").rpartition("/")[2].lower(), parse_owner(request))
        pages = [
            await hub.read(hub.store.list_skills, limit=1, prefix=skill.slug, owner=skill.owner) for skill in found
        ]
        items = tuple(item for page in pages for item in page.items if item.skill in found)[:limit]
    else:
        items = (await hub.read(hub.store.search, query, limit)).items
    if request.query_params.get("nonSuspiciousOnly") in ("1", "true"):
        items = tuple(item for item in items if item.release is not None and item.release.verdict == "clean")
    return make_json_response({"results": [_describe_hit(item) for item in items]})


def _describe_hit(one: HubListing) -> dict[str, object]:
    skill = one.skill
    return {
        "score": one.score,
        "slug": skill.slug,
        "ownerHandle": skill.owner,
        "displayName": skill.display_name,
        "summary": skill.summary or None,
        "version": skill.latest or None,
        "downloads": skill.downloads,
        "updatedAt": skill.updated,
        "owner": view_owner(skill.owner),
        "verdict": one.release.verdict if one.release else None,
    }


async def list_skills(request: Request) -> Response:
    """Pages of all skills."""
    hub = get_hub(request)
    query = request.query_params
    sort = _SORTS.get(query.get("sort", "updated"))
    if sort is None:
        raise WebError(400, f"Unknown sort. Choose one of: {', '.join(_SORTS)}")
    page = await hub.read(
        hub.store.list_skills,
        sort,
        parse_number(request, "limit", 25, 200),
        query.get("cursor", ""),
        prefix=query.get("prefix", ""),
        owner=parse_owner(request),
    )
    items = [view_item(item.skill, item.release, {"latest": item.skill.latest}) for item in page.items]
    return make_json_response({"items": items, "nextCursor": page.cursor or None})


async def get_skill(request: Request) -> Response:
    """One skill with its latest version, and what the scanner says of it."""
    hub = get_hub(request)
    skill = await find_skill(request, request.path_params["slug"])
    latest = await hub.read(hub.store.find_version, skill.id)
    return make_json_response(view_detail(skill, latest, await hub.read(hub.store.tags, skill.id)))


async def list_versions(request: Request) -> Response:
    """All versions of a skill, newest first."""
    hub = get_hub(request)
    skill = await find_skill(request, request.path_params["slug"])
    limit = parse_number(request, "limit", 25, 200)
    start = parse_number(request, "cursor", 0, 1_000_000) if request.query_params.get("cursor") else 0
    versions = await hub.read(hub.store.versions, skill.id)
    following = start + limit
    items = [view_version_brief(version) for version in versions[start:following]]
    return make_json_response({"items": items, "nextCursor": str(following) if following < len(versions) else None})


async def get_version(request: Request) -> Response:
    """One version with every file's hash."""
    skill = await find_skill(request, request.path_params["slug"])
    return make_json_response(view_version(skill, await read_version(request, skill, request.path_params["version"])))


async def get_file(request: Request) -> Response:
    """One file of a version: its bytes, or with preview=1 its text."""
    hub = get_hub(request)
    skill = await find_skill(request, request.path_params["slug"])
    version = await read_version(request, skill)
    file = find_file(version, request.query_params.get("path", ""))
    if request.query_params.get("preview") != "1":
        name = file.path.rpartition("/")[2]
        return await send_blob(
            request, file.sha256, file.size, media_type="application/octet-stream", name=quote(name, safe=" .-_")
        )
    if file.size > MAX_PREVIEW:
        raise WebError(413, "File is too large to preview")
    try:
        return PlainTextResponse((await hub.read(hub.store.blobs.get, file.sha256)).decode())
    except UnicodeDecodeError as error:
        raise WebError(415, "File is not text") from error


def find_file(version: HubVersion, path: str) -> HubFile:
    """Raises: WebError."""
    for file in version.files:
        if file.path == path:
            return file
    raise WebError(404, "File not found")


async def resolve(request: Request) -> Response:
    """Find the version of a folder by its fingerprint, and the latest version."""
    hub = get_hub(request)
    fingerprint = request.query_params.get("hash", "").lower()
    if len(fingerprint) != 64 or not all(letter in "0123456789abcdef" for letter in fingerprint):
        raise WebError(400, "hash must be 64 hexadecimal digits")
    skill = await find_skill(request, request.query_params.get("slug", ""))
    match = await hub.read(hub.store.resolve, skill.id, fingerprint)
    latest = {"version": skill.latest} if skill.latest else None
    return make_json_response({"match": {"version": match} if match else None, "latestVersion": latest})


async def get_install(request: Request) -> Response:
    """Return the place from which to install the latest version."""
    slug = request.path_params["slug"]
    try:
        skill = await find_skill(request, slug)
    except WebError as error:
        if error.status != 410:
            raise
        return _no_install(slug, error.text, 410)
    if not skill.latest:
        return _no_install(slug, "There is no version to install", 409)
    query = urlencode({"slug": skill.slug, "ownerHandle": skill.owner, "version": skill.latest})
    url = f"{get_hub(request).address(request)}/api/v1/download?{query}"
    archive = {"version": skill.latest, "downloadUrl": url}
    return make_json_response({"ok": True, "slug": skill.slug, "installKind": "archive", "archive": archive})


def _no_install(slug: str, message: str, status: int) -> Response:
    document = {"ok": False, "slug": slug, "reason": "archive_version_missing", "message": message, "status": status}
    return make_json_response(document, status)


async def download(request: Request) -> Response:
    """The zip that ClawHub's clients unpack: the files at its root, and `_meta.json`."""
    skill = await find_skill(request, request.query_params.get("slug", ""))
    version = await read_version(request, skill)
    check_not_malicious(version)
    count_download(request, skill)
    name = f"{skill.slug}-{version.version}.zip"
    return await send_blob(request, version.download, version.download_size, media_type="application/zip", name=name)


async def archive(request: Request) -> Response:
    """The zip whose sha256 the index names."""
    return await serve_archive(request, request.path_params["owner"], request.path_params["slug"], "")


async def serve_archive(request: Request, owner: str, slug: str, named: str) -> Response:
    """A version's plain zip. Raises: WebError."""
    skill = await find_skill(request, slug, owner=owner.removeprefix("@").lower())
    version = await read_version(request, skill, named)
    check_not_malicious(version)
    count_download(request, skill)
    name = f"{slug}-{version.version}.zip"
    return await send_blob(request, version.archive, version.archive_size, media_type="application/zip", name=name)


def count_download(request: Request, skill: HubSkill) -> None:
    """Count a download; a HEAD request does not count."""
    if request.method == "GET":
        get_hub(request).store.count_download(skill.id)


def check_not_malicious(version: HubVersion) -> None:
    """Raises: WebError."""
    if version.verdict == "malicious":
        raise WebError(403, "Blocked: this version was found to be malicious")


_SKILL = "/api/v1/skills/{slug}"
READING = [
    Route("/api/v1/search", search),
    Route("/api/v1/download", download),
    Route("/api/v1/resolve", resolve),
    Route("/api/v1/skills", list_skills, methods=["GET"]),
    Route("/api/v1/agent-skills/{owner}/{slug}/archive", archive),
    Route(_SKILL, get_skill, methods=["GET"]),
    Route(f"{_SKILL}/versions", list_versions),
    Route(f"{_SKILL}/versions/{{version}}", get_version, methods=["GET"]),
    Route(f"{_SKILL}/file", get_file),
    Route(f"{_SKILL}/install", get_install),
]
