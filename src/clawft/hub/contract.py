"""The hub in the words of the older contract (R168): `/skills/search` and `/skills/{id}/download`, a tar.gz."""

import gzip
import hashlib
import io
import tarfile

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clawft.hub.api_read import check_given
from clawft.hub.context import Hub, answer, find_skill, hub_of, number, read_version, searched
from clawft.hub.model import HubVersion, Listed
from clawft.hub.store import HubStore

__all__ = ["CONTRACT"]


async def search(request: Request) -> Response:
    """Skills that fit a query; `id` is what a download is asked for by."""
    hub, query = hub_of(request), searched(request)
    page = await hub.read(hub.store.search, query, number(request, "limit", 20, 200))
    found = [await _describe(hub, one, exact=one.skill.slug == query) for one in page.items]
    return answer({"skills": found, "total": len(found)})


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
    return {**told, "digest": f"sha256:{hashlib.sha256(await hub.work(_pack, hub.store, version)).hexdigest()}"}


async def download(request: Request) -> Response:
    """The latest version, or the one that is named, as a tar.gz with the files at its root."""
    hub = hub_of(request)
    owner, _, slug = request.path_params["id"].rpartition("~")
    skill = await find_skill(request, slug, owner=owner)
    version = await read_version(request, skill)
    check_given(version)
    content = await hub.work(_pack, hub.store, version)
    hub.store.count_download(skill.id)
    headers = {"Content-Disposition": f'attachment; filename="{skill.slug}-{version.version}.tar.gz"'}
    return Response(content, media_type="application/gzip", headers=headers)


def _pack(store: HubStore, version: HubVersion) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(version.files, key=lambda one: one.path.encode()):
            entry = tarfile.TarInfo(file.path)
            entry.size, entry.mode = file.size, 0o755 if file.executable else 0o644
            archive.addfile(entry, io.BytesIO(store.get_blob(file.sha256)))
    return gzip.compress(buffer.getvalue(), 0, mtime=0)  # what is compressed differs between versions of zlib


CONTRACT = [
    Route("/api/v1/skills/search", search),
    Route("/api/v1/skills/{id}/download", download),
    Route("/skills/search", search),
    Route("/skills/{id}/download", download),
]
