"""Skills of the store as the MCP Skills extension has them: which of them are served, and at which addresses.

The last folder of an address has to be the name that SKILL.md says. Where that is another than the name in the hub,
both stand in it: `skill://ann/pdf-tools/pdf/SKILL.md`. What is served is the latest version.
"""

import re
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from clawft.hub.model import HubSkill, HubVersion, Listed
from clawft.hub.store import HubStore
from clawft.mcp.skills_extension import SCHEME, ServedFile, ServedSkill, can_serve

__all__ = ["Served", "find_served", "list_served", "serve_listed"]

_OWNER = re.compile(r"[a-z0-9._-]+")


class Served(ServedSkill, frozen=True):
    """A skill that can be served, and the version of it."""

    version: HubVersion


def list_served(store: HubStore, limit: int, cursor: str) -> tuple[list[Served], str]:
    """A part of all skills that can be served, by name, and where the next part begins. Raises: ClawftError."""
    page = store.list_skills("name", limit, cursor)
    return [served for one in page.items if (served := serve_listed(store, one))], page.cursor


def serve_listed(store: HubStore, one: Listed) -> Served | None:
    """A skill of a list; None if it cannot be served. Raises: ClawftError."""
    version = store.find_version(one.skill.id, one.release.version) if one.release else None
    return _serve(one.skill, version) if version else None


def find_served(store: HubStore, address: str) -> tuple[Served, str] | None:
    """The skill that an address is in, and the path below its folder ('' for the folder itself)."""
    plain = unquote(address.removeprefix(SCHEME))
    owner, _, rest = plain.partition("/")
    slug, _, path = rest.partition("/")
    if not address.startswith(SCHEME) or not _OWNER.fullmatch(owner):
        return None
    for skill in store.find(slug, owner):
        version = None if skill.deleted else store.find_version(skill.id)
        served = _serve(skill, version) if version else None
        if served is None:
            continue
        within = unquote(served.root.removeprefix(f"{SCHEME}{owner}/{slug}")).removeprefix("/")
        if not within:
            return served, path
        if path == within or path.startswith(f"{within}/"):
            return served, path[len(within) + 1 :]
    return None


def _serve(skill: HubSkill, version: HubVersion) -> Served | None:
    """None for what no host would take."""
    said: dict[str, Any] = msgspec.json.decode(version.front)
    files = tuple(ServedFile(one.path, one.sha256, one.size) for one in version.files)
    if not can_serve(said, files):
        return None
    name = said["name"]
    folder = skill.slug if name == skill.slug else f"{skill.slug}/{quote(name)}"
    return Served(f"{SCHEME}{skill.owner}/{folder}", said, files, version)
