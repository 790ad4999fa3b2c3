"""The hub at a well-known place (INTEROP 3.8): indexes of all skills, of one owner or of one skill, and what they name.

The `skills` command fetches everything that an index lists before it chooses, so the address of one skill has an index
of its own: `skills add https://hub/@owner/skill`. Addresses in an index are relative to it: they hold behind any proxy.
"""

from collections.abc import Iterator
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clawft.hub.api_read import find_file, serve_archive
from clawft.hub.api_security import MAX_VERDICTS
from clawft.hub.context import answer, hub_of, number, searched, send_blob
from clawft.hub.indexes import SCHEMA, describe_shortly
from clawft.web.errors import WebError

__all__ = ["WELL_KNOWN"]


async def discovery(request: Request) -> Response:
    """Where ClawHub's clients find the interface."""
    return answer({"apiBase": hub_of(request).address(request), "verifyBatch": MAX_VERDICTS})


async def index(request: Request) -> Response:
    """Version 0.2.0: each skill's zip with its sha256."""
    hub = hub_of(request)
    return _answer_index(await hub.work(hub.indexes.newer, *_whose(request)))


async def older_index(request: Request) -> Response:
    """The form before that: names and files, without any digest."""
    hub = hub_of(request)
    return _answer_index(await hub.work(hub.indexes.older, *_whose(request)))


def _answer_index(document: bytes) -> Response:
    if not document:
        raise WebError(404, "There is no such owner, or no such skill")
    return Response(document, media_type="application/json")


async def agent_index(request: Request) -> Response:
    """The same of one skill, as ClawHub has it: the only address whose digest names the zip."""
    hub = hub_of(request)
    owner, slug = request.path_params["owner"].removeprefix("@").lower(), request.path_params["slug"]
    found = await hub.read(hub.store.find, slug, owner)
    if not found or found[0].deleted:
        raise WebError(410, "Skill was deleted") if found else WebError(404, "Skill not found")
    version = await hub.read(hub.store.find_version, found[0].id, request.query_params.get("version", ""))
    if version is None:
        raise WebError(404, "Version not found")
    entry = {
        "name": found[0].slug,
        "type": "archive",
        "description": describe_shortly(found[0]),
        "url": f"./archive?version={quote(version.version)}",
        "digest": f"sha256:{version.archive}",
        "version": version.version,
    }
    return answer({"$schema": SCHEMA, "skills": [entry]})


async def index_archive(request: Request) -> Response:
    """A zip that an index names."""
    values = request.path_params
    if not values["file"].endswith(".zip"):
        raise WebError(404, "Not found")
    return await serve_archive(request, values["of"], values["slug"], values["file"].removesuffix(".zip"))


async def index_file(request: Request) -> Response:
    """A file of a skill, by the skill's name in the index."""
    hub = hub_of(request)
    skill = await hub.work(hub.indexes.find, request.path_params["name"], *_whose(request))
    version = await hub.read(hub.store.find_version, skill.id) if skill else None
    if version is None or version.verdict == "malicious":
        raise WebError(404, "Skill not found")
    file = find_file(version, request.path_params["path"])
    name = quote(file.path.rpartition("/")[2], safe=" .-_")
    return await send_blob(request, file.sha256, file.size, media_type="application/octet-stream", name=name)


async def skills_search(request: Request) -> Response:
    """What `skills find` asks (SKILLS_API_URL). It prints SOURCE@NAME, which is an address of one skill, too."""
    hub = hub_of(request)
    query = searched(request)
    owner = request.query_params.get("owner", "").lower()
    page = await hub.read(hub.store.search, query, number(request, "limit", 10, 100))
    address = hub.address(request)
    found = [
        {
            "id": f"@{one.skill.owner}/{one.skill.slug}",
            "skillId": one.skill.slug,
            "name": one.skill.slug,
            "installs": one.skill.downloads,
            "source": f"{address}/@{one.skill.owner}",
        }
        for one in page.items
        if not owner or one.skill.owner == owner
    ]
    return answer({"query": query, "skills": found, "count": len(found)})


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
