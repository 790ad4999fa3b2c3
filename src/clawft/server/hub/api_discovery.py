"""Discovery endpoints: the well-known indexes with their files, and the older search and download interface."""

from collections.abc import Iterator
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from clawft.server.http.limits import WebError
from clawft.server.hub.api_read import check_not_malicious, count_download, find_file, get_skill, serve_archive
from clawft.server.hub.api_security import MAX_VERDICTS
from clawft.server.hub.context import (
    Hub,
    find_skill,
    get_hub,
    make_json_response,
    parse_number,
    parse_search,
    read_version,
    send_blob,
)
from clawft.server.hub.distribution import SCHEMA, make_tar, summarize_skill
from clawft.server.hub.model import HubListing


async def discovery(request: Request) -> Response:
    """Return the address of the API, for ClawHub's clients."""
    return make_json_response({"apiBase": get_hub(request).address(request), "verifyBatch": MAX_VERDICTS})


async def index(request: Request) -> Response:
    """Version 0.2.0: each skill's zip with its sha256."""
    hub = get_hub(request)
    return _answer_index(await hub.work(hub.indexes.newer, *_whose(request)))


async def older_index(request: Request) -> Response:
    """The form before that: names and files, without any digest."""
    hub = get_hub(request)
    return _answer_index(await hub.work(hub.indexes.older, *_whose(request)))


def _answer_index(document: bytes) -> Response:
    if not document:
        raise WebError(404, "There is no such owner, or no such skill")
    return Response(document, media_type="application/json")


async def agent_index(request: Request) -> Response:
    """The same of one skill, as ClawHub has it: the only address whose digest names the zip."""
    owner, slug = request.path_params["owner"].removeprefix("@").lower(), request.path_params["slug"]
    skill = await find_skill(request, slug, owner=owner)
    version = await read_version(request, skill)
    entry = {
        "name": skill.slug,
        "type": "archive",
        "description": summarize_skill(skill),
        "url": f"./archive?version={quote(version.version)}",
        "digest": f"sha256:{version.archive}",
        "version": version.version,
    }
    return make_json_response({"$schema": SCHEMA, "skills": [entry]})


async def index_archive(request: Request) -> Response:
    """A zip that an index names."""
    values = request.path_params
    if not values["file"].endswith(".zip"):
        raise WebError(404, "Not found")
    return await serve_archive(request, values["of"], values["slug"], values["file"].removesuffix(".zip"))


async def index_file(request: Request) -> Response:
    """A file of a skill, by the skill's name in the index."""
    hub = get_hub(request)
    skill = await hub.work(hub.indexes.find, request.path_params["name"], *_whose(request))
    version = await hub.read(hub.store.find_version, skill.id) if skill else None
    if version is None or version.verdict == "malicious":
        raise WebError(404, "Skill not found")
    file = find_file(version, request.path_params["path"])
    name = quote(file.path.rpartition("/")[2], safe=" .-_")
    return await send_blob(request, file.sha256, file.size, media_type="application/octet-stream", name=name)


async def skills_search(request: Request) -> Response:
    """Search for `skills find` (SKILLS_API_URL). It prints SOURCE@NAME, which is an address of one skill, too."""
    hub = get_hub(request)
    query = parse_search(request)
    owner = request.query_params.get("owner", "").lower()
    page = await hub.read(hub.store.search, query, parse_number(request, "limit", 10, 100))
    address = hub.address(request)
    found = [
        {
            "id": f"@{item.skill.owner}/{item.skill.slug}",
            "skillId": item.skill.slug,
            "name": item.skill.slug,
            "installs": item.skill.downloads,
            "source": f"{address}/@{item.skill.owner}",
        }
        for item in page.items
        if not owner or item.skill.owner == owner
    ]
    return make_json_response({"query": query, "skills": found, "count": len(found)})


def _whose(request: Request) -> tuple[str, str]:
    """The owner and the skill that the address of an index names, '' for all."""
    return request.path_params.get("owner", "").lower(), request.path_params.get("skill", "")


def _routes() -> Iterator[Route]:
    yield Route("/api/v1/agent-skills/{owner}/{slug}/index.json", agent_index)
    for prefix in ("", "/@{owner}@{skill}", "/@{owner}", "/@{owner}/{skill}"):
        newer, older = f"{prefix}/.well-known/agent-skills", f"{prefix}/.well-known/skills"
        yield Route(f"{newer}/index.json", index)
        yield Route(f"{older}/index.json", older_index)
        yield Route(f"{newer}/@{{of}}/{{slug}}/{{file}}", index_archive)
        yield Route(f"{newer}/{{name}}/{{path:path}}", index_file)
        yield Route(f"{older}/{{name}}/{{path:path}}", index_file)
    yield Route("/.well-known/clawhub.json", discovery)
    yield Route("/.well-known/clawdhub.json", discovery)
    yield Route("/api/search", skills_search)


WELL_KNOWN = list(_routes())


async def search(request: Request) -> Response:
    """Skills that fit a query; `id` is what a download is asked for by."""
    hub, query = get_hub(request), parse_search(request)
    page = await hub.read(hub.store.search, query, parse_number(request, "limit", 20, 200))
    found = [await _describe(hub, item, exact=item.skill.slug == query) for item in page.items]
    return make_json_response({"skills": found, "total": len(found)})


async def search_or_show(request: Request) -> Response:
    """Search skills; without a query, show the skill that is called `search`."""
    if "q" in request.query_params:
        return await search(request)
    request.scope["path_params"] = {"slug": "search"}
    return await get_skill(request)


async def _describe(hub: Hub, one: HubListing, *, exact: bool) -> dict[str, object]:
    """A result; one that is exactly what was asked for comes with the digest of its download, to be checked."""
    fields: dict[str, object] = {
        "id": f"{one.skill.owner}~{one.skill.slug}",
        "name": one.skill.slug,
        "description": one.skill.summary,
        "version": one.skill.latest,
        "author": one.skill.owner,
        "downloads": one.skill.downloads,
    }
    version = await hub.read(hub.store.find_version, one.skill.id) if exact else None
    if version is None:
        return fields
    return {**fields, "digest": f"sha256:{await hub.work(hub.tars.get, version)}"}


async def download(request: Request) -> Response:
    """The latest version, or the one that is named, as a tar.gz with the files at its root."""
    hub = get_hub(request)
    owner, _, slug = request.path_params["id"].rpartition("~")
    skill = await find_skill(request, slug, owner=owner)
    version = await read_version(request, skill)
    check_not_malicious(version)
    count_download(request, skill)
    headers = {"Content-Disposition": f'attachment; filename="{skill.slug}-{version.version}.tar.gz"'}
    pieces = make_tar(hub.store, version) if request.method == "GET" else iter(())
    return StreamingResponse(pieces, media_type="application/gzip", headers=headers)


CONTRACT = [
    Route("/api/v1/skills/search", search_or_show),
    Route("/api/v1/skills/{id}/download", download),
    Route("/skills/search", search),
    Route("/skills/{id}/download", download),
]
