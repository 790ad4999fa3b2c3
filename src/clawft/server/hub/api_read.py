"""What anybody reads of the hub, as ClawHub's interface has it (INTEROP 3.2)."""

from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from clawft.hub.answers import (
    describe_detail,
    describe_item,
    describe_owner,
    describe_version,
    describe_version_shortly,
)
from clawft.hub.context import answer, find_skill, hub_of, number, owner_of, read_version, searched, send_blob
from clawft.hub.model import HubFile, HubSkill, HubVersion, Listed
from clawft.web.errors import WebError

__all__ = ["READING", "check_given", "count_download", "find_file", "get_skill", "serve_archive"]

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
    hub = hub_of(request)
    query = searched(request)
    limit = number(request, "limit", 25, 200)
    if request.query_params.get("mode") == "exact":
        found = await hub.read(hub.store.find, query.removeprefix("@").rpartition("/")[2].lower(), owner_of(request))
        pages = [await hub.read(hub.store.list_skills, limit=1, prefix=one.slug, owner=one.owner) for one in found]
        items = tuple(item for page in pages for item in page.items if item.skill in found)[:limit]
    else:
        items = (await hub.read(hub.store.search, query, limit)).items
    if request.query_params.get("nonSuspiciousOnly") in ("1", "true"):
        items = tuple(one for one in items if one.release is not None and one.release.verdict == "clean")
    return answer({"results": [_describe_hit(one) for one in items]})


def _describe_hit(one: Listed) -> dict[str, object]:
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
        "owner": describe_owner(skill.owner),
        "verdict": one.release.verdict if one.release else None,
    }


async def list_skills(request: Request) -> Response:
    """Pages of all skills."""
    hub = hub_of(request)
    query = request.query_params
    sort = _SORTS.get(query.get("sort", "updated"))
    if sort is None:
        raise WebError(400, f"Unknown sort. Choose one of: {', '.join(_SORTS)}")
    page = await hub.read(
        hub.store.list_skills,
        sort,
        number(request, "limit", 25, 200),
        query.get("cursor", ""),
        prefix=query.get("prefix", ""),
        owner=owner_of(request),
    )
    items = [describe_item(one.skill, one.release, {"latest": one.skill.latest}) for one in page.items]
    return answer({"items": items, "nextCursor": page.cursor or None})


async def get_skill(request: Request) -> Response:
    """One skill with its latest version, and what the scanner says of it."""
    hub = hub_of(request)
    skill = await find_skill(request, request.path_params["slug"])
    latest = await hub.read(hub.store.find_version, skill.id)
    return answer(describe_detail(skill, latest, await hub.read(hub.store.tags, skill.id)))


async def list_versions(request: Request) -> Response:
    """All versions of a skill, newest first."""
    hub = hub_of(request)
    skill = await find_skill(request, request.path_params["slug"])
    limit = number(request, "limit", 25, 200)
    start = number(request, "cursor", 0, 1_000_000) if request.query_params.get("cursor") else 0
    versions = await hub.read(hub.store.versions, skill.id)
    following = start + limit
    items = [describe_version_shortly(one) for one in versions[start:following]]
    return answer({"items": items, "nextCursor": str(following) if following < len(versions) else None})


async def get_version(request: Request) -> Response:
    """One version with every file's hash."""
    skill = await find_skill(request, request.path_params["slug"])
    return answer(describe_version(skill, await read_version(request, skill, request.path_params["version"])))


async def get_file(request: Request) -> Response:
    """One file of a version: its bytes, or with preview=1 its text."""
    hub = hub_of(request)
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
        return PlainTextResponse((await hub.read(hub.store.get_blob, file.sha256)).decode())
    except UnicodeDecodeError as error:
        raise WebError(415, "File is not text") from error


def find_file(version: HubVersion, path: str) -> HubFile:
    """Raises: WebError."""
    for one in version.files:
        if one.path == path:
            return one
    raise WebError(404, "File not found")


async def resolve(request: Request) -> Response:
    """Which version a folder is, by its fingerprint; and which is the latest."""
    hub = hub_of(request)
    fingerprint = request.query_params.get("hash", "").lower()
    if len(fingerprint) != 64 or not all(letter in "0123456789abcdef" for letter in fingerprint):
        raise WebError(400, "hash must be 64 hexadecimal digits")
    skill = await find_skill(request, request.query_params.get("slug", ""))
    match = await hub.read(hub.store.resolve, skill.id, fingerprint)
    latest = {"version": skill.latest} if skill.latest else None
    return answer({"match": {"version": match} if match else None, "latestVersion": latest})


async def get_install(request: Request) -> Response:
    """Where the latest version is to be had."""
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
    url = f"{hub_of(request).address(request)}/api/v1/download?{query}"
    archive = {"version": skill.latest, "downloadUrl": url}
    return answer({"ok": True, "slug": skill.slug, "installKind": "archive", "archive": archive})


def _no_install(slug: str, message: str, status: int) -> Response:
    document = {"ok": False, "slug": slug, "reason": "archive_version_missing", "message": message, "status": status}
    return answer(document, status)


async def download(request: Request) -> Response:
    """The zip that ClawHub's clients unpack: the files at its root, and `_meta.json`."""
    skill = await find_skill(request, request.query_params.get("slug", ""))
    version = await read_version(request, skill)
    check_given(version)
    count_download(request, skill)
    name = f"{skill.slug}-{version.version}.zip"
    return await send_blob(request, version.download, version.download_size, media_type="application/zip", name=name)


async def archive(request: Request) -> Response:
    """The zip whose sha256 the index names."""
    return await serve_archive(request, request.path_params["owner"], request.path_params["slug"], "")


async def serve_archive(request: Request, owner: str, slug: str, named: str) -> Response:
    """A version's plain zip. Raises: WebError."""
    hub = hub_of(request)
    found = await hub.read(hub.store.find, slug, owner.removeprefix("@").lower())
    if not found:
        raise WebError(404, "Skill not found")
    if found[0].deleted:
        raise WebError(410, "Skill was deleted")
    version = await read_version(request, found[0], named)
    check_given(version)
    count_download(request, found[0])
    name = f"{slug}-{version.version}.zip"
    return await send_blob(request, version.archive, version.archive_size, media_type="application/zip", name=name)


def count_download(request: Request, skill: HubSkill) -> None:
    """Somebody got it; to ask how large it is counts for nothing."""
    if request.method == "GET":
        hub_of(request).store.count_download(skill.id)


def check_given(version: HubVersion) -> None:
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
