"""The hub in the words of the older contract (R168): `/skills/search` and `/skills/{id}/download`, a tar.gz."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from clawft.hub.api_read import check_given, count_download, get_skill
from clawft.hub.context import Hub, answer, find_skill, hub_of, number, read_version, searched
from clawft.hub.model import Listed
from clawft.hub.tars import make_tar

__all__ = ["CONTRACT"]


async def search(request: Request) -> Response:
    """Skills that fit a query; `id` is what a download is asked for by."""
    hub, query = hub_of(request), searched(request)
    page = await hub.read(hub.store.search, query, number(request, "limit", 20, 200))
    found = [await _describe(hub, one, exact=one.skill.slug == query) for one in page.items]
    return answer({"skills": found, "total": len(found)})


async def search_or_show(request: Request) -> Response:
    """The same; without a query the skill is meant that is called `search`."""
    if "q" in request.query_params:
        return await search(request)
    request.scope["path_params"] = {"slug": "search"}
    return await get_skill(request)


async def _describe(hub: Hub, one: Listed, *, exact: bool) -> dict[str, object]:
    """A result; one that is exactly what was asked for comes with the digest of its download, to be checked."""
    told: dict[str, object] = {
        "id": f"{one.skill.owner}~{one.skill.slug}",
        "name": one.skill.slug,
        "description": one.skill.summary,
        "version": one.skill.latest,
        "author": one.skill.owner,
        "downloads": one.skill.downloads,
    }
    version = await hub.read(hub.store.find_version, one.skill.id) if exact else None
    if version is None:
        return told
    return {**told, "digest": f"sha256:{await hub.work(hub.tars.get, version)}"}


async def download(request: Request) -> Response:
    """The latest version, or the one that is named, as a tar.gz with the files at its root."""
    hub = hub_of(request)
    owner, _, slug = request.path_params["id"].rpartition("~")
    skill = await find_skill(request, slug, owner=owner)
    version = await read_version(request, skill)
    check_given(version)
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
