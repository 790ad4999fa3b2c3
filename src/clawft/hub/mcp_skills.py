"""Skills of the store as the MCP Skills extension has them (SEP-2640): addresses, entries and files.

The last folder of an address has to be the name that SKILL.md says. Where that is another than the name in the hub,
both stand in it: `skill://ann/pdf-tools/pdf/SKILL.md`. What is served is the latest version.
"""

import mimetypes
import re
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from clawft.format.names import is_canonical
from clawft.hub.model import HubFile, HubSkill, HubVersion, Listed
from clawft.hub.store import HubStore

__all__ = ["Served", "describe_folder", "describe_skill", "find_served", "list_served", "read_mime", "serve_listed"]

MAX_FILES = 512  # what every host takes; a skill with more is not served
MAX_BYTES = 16 << 20
FOLDER = "inode/directory"
_SCHEME = "skill://"
_OWNER = re.compile(r"[a-z0-9._-]+")
_KNOWN = {".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript", ".yaml": "text/yaml"}


class Served(Struct, frozen=True):
    """A skill that can be served: where its files are, and what its SKILL.md says."""

    skill: HubSkill
    version: HubVersion
    root: str  # the address of its folder
    front: dict[str, Any]

    def address(self, file: HubFile) -> str:
        return f"{self.root}/{quote(file.path)}"

    def file(self, path: str) -> HubFile | None:
        return next((one for one in self.version.files if one.path == path), None)


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
    plain = unquote(address.removeprefix(_SCHEME))
    owner, _, rest = plain.partition("/")
    slug, _, path = rest.partition("/")
    if not address.startswith(_SCHEME) or not _OWNER.fullmatch(owner):
        return None
    for skill in store.find(slug, owner):
        version = None if skill.deleted else store.find_version(skill.id)
        served = _serve(skill, version) if version else None
        if served is None:
            continue
        within = unquote(served.root.removeprefix(f"{_SCHEME}{owner}/{slug}")).removeprefix("/")
        if not within:
            return served, path
        if path == within or path.startswith(f"{within}/"):
            return served, path[len(within) + 1 :]
    return None


def describe_skill(served: Served) -> dict[str, Any]:
    """The entry of a skill: its frontmatter as it is, and every file with digest and size."""
    return {
        "uri": f"{served.root}/SKILL.md",
        "frontmatter": served.front,
        "resources": [
            {"uri": served.address(one), "digest": f"sha256:{one.sha256}", "size": one.size}
            for one in served.version.files
        ],
    }


def describe_folder(served: Served, path: str) -> list[dict[str, Any]] | None:
    """What lies in a folder of a skill; None if it is none."""
    prefix = f"{path}/" if path else ""
    inside = [one for one in served.version.files if one.path.startswith(prefix)]
    if not inside:
        return None
    found: dict[str, dict[str, Any]] = {}
    for one in inside:
        name, slash, _ = one.path[len(prefix) :].partition("/")
        address = f"{served.root}/{quote(prefix + name)}"
        kind = {"mimeType": FOLDER} if slash else {"mimeType": read_mime(one.path), "size": one.size}
        found.setdefault(name, {"uri": address, "name": name, **kind})
    return [found[name] for name in sorted(found)]


def read_mime(path: str) -> str:
    """By the name of a file; what it is served as does not depend on what its publisher said."""
    dot = path.rfind(".")
    known = _KNOWN.get(path[dot:].lower()) if dot >= 0 else None
    return known or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _serve(skill: HubSkill, version: HubVersion) -> Served | None:
    """None for what no host would take: an odd name, no frontmatter, or too much."""
    said: dict[str, Any] = msgspec.json.decode(version.front)
    name = said.get("name")
    if not isinstance(name, str) or not is_canonical(name) or not isinstance(said.get("description"), str):
        return None
    if len(version.files) > MAX_FILES or sum(one.size for one in version.files) > MAX_BYTES:
        return None
    folder = skill.slug if name == skill.slug else f"{skill.slug}/{quote(name)}"
    return Served(skill, version, f"{_SCHEME}{skill.owner}/{folder}", said)
