"""Approved copies of skills from MCP servers, in a folder of our own that no client searches."""

import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from clawft.errors import Unreadable
from clawft.files import check_json_version, read_optional
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.locations import Location

ORIGIN_FILE = "origin.json"
_MAX_BYTES = 16 * 1024


class McpSkillCopy(Struct, frozen=True):
    """One of them: who it is, and its folder."""

    origin: "McpSkillOrigin"
    folder: str

    @property
    def name(self) -> str:
        return os.path.basename(self.folder)


class McpSkillOrigin(Struct, frozen=True):
    """The server and address that a skill came from, which identify it."""

    server: str
    uri: str

    def __str__(self) -> str:
        return f"mcp:{self.server} {self.uri}"


def served_folder(user_dir: str) -> str:
    """Return the folder that holds all copies of MCP skills."""
    return f"{user_dir}/mcp-skills"


def find_place(user_dir: str, origin: McpSkillOrigin) -> str:
    """The folder that holds one of them, and what tells where it came from."""
    import hashlib  # most users have none of these

    return f"{served_folder(user_dir)}/{origin.server}/{hashlib.sha256(origin.uri.encode()).hexdigest()[:32]}"


def _read_origin(user_dir: str, place: str) -> McpSkillOrigin | None:
    """Read the origin of the skill in a place; None where it belongs to another place. Raises: ClawftError `format-
    newer`."""
    path = f"{place}/{ORIGIN_FILE}"
    try:
        data = read_optional(path, _MAX_BYTES)
        check_json_version(data or b"", 1, path)
        origin = msgspec.json.decode(data or b"", type=McpSkillOrigin)
    except (Unreadable, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return origin if place == find_place(user_dir, origin) else None


def list_served(user_dir: str) -> list[McpSkillCopy]:
    """All of them, also of servers that are gone, by server and name."""
    found = []
    for location in served_locations(user_dir, lambda _: True):
        for place in _list_folders(location.path):
            origin = _read_origin(user_dir, place)
            found += [McpSkillCopy(origin, folder) for folder in _list_folders(place)] if origin else []
    return sorted(found, key=lambda one: (one.origin.server, one.name, one.origin.uri))


def list_unknown(user_dir: str) -> list[str]:
    """List the places whose origin is not known: its file is missing, damaged, or of another place."""
    places = [
        place
        for served_location in served_locations(user_dir, lambda _: True)
        for place in _list_folders(served_location.path)
    ]
    return [place for place in places if _read_origin(user_dir, place) is None]


def find_origin(found: DiscoveredSkill) -> str:
    """Find the origin of an MCP server's skill, as text: `mcp:SERVER URI`; the server alone where its address is not
    known."""
    user_dir = os.path.dirname(os.path.dirname(found.location.path))
    return str(_read_origin(user_dir, os.path.dirname(found.folder)) or f"mcp:{found.location.layer}")


def render_mcp_origin(found: DiscoveredSkill) -> str:
    """Render the notice that a model reads before a skill that came from an MCP server; '' for other skills."""
    return tell_server(found.location.layer) if found.location.scope == "mcp" else ""


def tell_server(name: str) -> str:
    return f"(from the MCP server '{name}') "


def served_locations(user_dir: str, has_server: Callable[[str], bool]) -> list[Location]:
    """Return the locations of the approved skills of existing servers, by the name of the server."""
    folders = _list_folders(served_folder(user_dir))
    return [Location("mcp", name, path) for path in folders if has_server(name := os.path.basename(path))]


def _list_folders(folder: str) -> list[str]:
    """The folders in a folder; hidden ones and links are left out."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path for entry in entries if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []
