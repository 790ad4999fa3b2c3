"""The hub as an index at a well-known place (INTEROP 3.8): of all skills, of one owner, or of one skill.

The `skills` command fetches everything that an index lists before it chooses, so the address of one skill has an index
of its own: `skills add https://hub/@owner/skill`. Addresses in an index are relative to it: they hold behind any proxy.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clawft.hub.api_read import find_file, serve_archive
from clawft.hub.context import Hub, answer, hub_of, number, searched, send_blob
from clawft.hub.errors import HubError
from clawft.hub.model import HubSkill, Listed
from clawft.hub.store import HubStore

__all__ = ["WELL_KNOWN"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MAX_DESCRIPTION = 1024
MAX_NAME = 64  # what clients take; a slug may be longer
_PAGE = 200
_UNSAFE = re.compile(r"\.\.|[\x00-\x1f\\?#%]")  # in a path: the older form has it in an address as it is


async def discovery(request: Request) -> Response:
    """Where ClawHub's clients find the interface."""
    return answer({"apiBase": hub_of(request).address(request)})


async def index(request: Request) -> Response:
    """Version 0.2.0: each skill's zip with its sha256."""
    listed, omitted = await _choose_for(request)
    skills = [
        {
            "name": one.skill.slug,
            "type": "archive",
            "description": _describe(one.skill),
            "url": f"./@{one.skill.owner}/{one.skill.slug}/{quote(one.release.version)}.zip",
            "digest": f"sha256:{one.release.archive}",
            "version": one.release.version,
        }
        for one in listed
        if one.release is not None
    ]
    return _answer_index({"$schema": SCHEMA, "skills": skills}, omitted)


async def older_index(request: Request) -> Response:
    """The form before that: names and files, without any digest. A client takes all of it or nothing."""
    hub = hub_of(request)
    listed, omitted = await _choose_for(request)

    def describe() -> list[dict[str, Any]]:
        found = []
        for one in listed:
            version = hub.store.find_version(one.skill.id)
            paths = [file.path for file in version.files] if version else []
            if "SKILL.md" in paths and not any(_UNSAFE.search(path) for path in paths):
                found.append({"name": one.skill.slug, "description": _describe(one.skill), "files": paths})
            else:
                omitted.append(f"@{one.skill.owner}/{one.skill.slug}")
        return found

    return _answer_index({"skills": await hub.work(describe)}, omitted)


def _answer_index(document: dict[str, Any], omitted: list[str]) -> Response:
    """Nothing is left out in silence: what an index cannot hold is to be had under its owner's address."""
    return answer({**document, "omitted": omitted} if omitted else document)


async def agent_index(request: Request) -> Response:
    """The same of one skill, as ClawHub has it: the only address whose digest names the zip."""
    hub = hub_of(request)
    owner, slug = request.path_params["owner"], request.path_params["slug"]
    skill = await _get_skill(hub, owner, slug)
    version = await hub.read(hub.store.find_version, skill.id, request.query_params.get("version", ""))
    if version is None:
        raise HubError(404, "Version not found")
    entry = {
        "name": skill.slug,
        "type": "archive",
        "description": _describe(skill),
        "url": f"./archive?version={quote(version.version)}",
        "digest": f"sha256:{version.archive}",
        "version": version.version,
    }
    return answer({"$schema": SCHEMA, "skills": [entry]})


async def index_archive(request: Request) -> Response:
    """A zip that an index names."""
    values = request.path_params
    if not values["file"].endswith(".zip"):
        raise HubError(404, "Not found")
    return await serve_archive(request, values["of"], values["slug"], values["file"].removesuffix(".zip"))


async def index_file(request: Request) -> Response:
    """A file of a skill, by the skill's name in the index."""
    hub = hub_of(request)
    listed, _ = await hub.work(_choose, hub.store, *_whose(request), request.path_params["name"])
    if len(listed) != 1:
        raise HubError(404, "Skill not found")
    version = await hub.read(hub.store.find_version, listed[0].skill.id)
    if version is None or version.verdict == "malicious":
        raise HubError(404, "Skill not found")
    file = find_file(version, request.path_params["path"])
    name = quote(file.path.rpartition("/")[2], safe=" .-_")
    return await send_blob(hub, file.sha256, file.size, media_type="application/octet-stream", name=name)


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


async def _choose_for(request: Request) -> tuple[list[Listed], list[str]]:
    """What the index at this address holds, and what it cannot. Raises: HubError where there is no such place."""
    hub = hub_of(request)
    owner, slug = _whose(request)
    listed, omitted = await hub.work(_choose, hub.store, owner, slug)
    if owner and not listed and not omitted:
        raise HubError(404, "Skill not found" if slug else "Owner not found")
    return listed, omitted


def _whose(request: Request) -> tuple[str, str]:
    """The owner and the skill that the address of an index names, '' for all."""
    return request.path_params.get("owner", "").lower(), request.path_params.get("skill", "")


def _choose(store: HubStore, owner: str, slug: str, name: str = "") -> tuple[list[Listed], list[str]]:
    """The skills that an index holds, and those it cannot hold: a name that two owners have is no name."""
    seen: dict[str, list[Listed]] = {}
    for one in _all(store, owner, slug or name):
        if (slug or name) in ("", one.skill.slug):
            seen.setdefault(one.skill.slug, []).append(one)
    chosen = [found[0] for found in seen.values() if len(found) == 1 and _is_held(found[0])]
    kept = {one.skill.id for one in chosen}
    omitted = [
        f"@{one.skill.owner}/{one.skill.slug}" for found in seen.values() for one in found if one.skill.id not in kept
    ]
    return chosen, omitted


def _is_held(one: Listed) -> bool:
    return len(one.skill.slug) <= MAX_NAME and one.release is not None and one.release.verdict != "malicious"


def _all(store: HubStore, owner: str, prefix: str) -> Iterator[Listed]:
    cursor = ""
    while True:
        page = store.list_skills("name", _PAGE, cursor, prefix=prefix, owner=owner)
        yield from page.items
        cursor = page.cursor
        if not cursor:
            return


async def _get_skill(hub: Hub, owner: str, slug: str) -> HubSkill:
    found = await hub.read(hub.store.find, slug, owner.removeprefix("@").lower())
    if not found:
        raise HubError(404, "Skill not found")
    if found[0].deleted:
        raise HubError(410, "Skill was deleted")
    return found[0]


def _describe(skill: HubSkill) -> str:
    return (" ".join(skill.summary.split()) or skill.display_name or skill.slug)[:MAX_DESCRIPTION]


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
