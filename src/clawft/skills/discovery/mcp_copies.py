"""Skills of MCP servers that the user approved: copies in a folder of our own, where no client looks for skills.

Each lies in `mcp-skills/SERVER/ID/NAME`: the name that the user gave to the server, and the address of the skill there,
hashed; the address itself stands beside it. Two servers, or two addresses, never share a place.
"""

import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.locations import Location
from clawft.errors import Unreadable
from clawft.files import check_json_version, read_optional

__all__ = [
    "ORIGIN_FILE",
    "Origin",
    "Served",
    "describe_origin",
    "find_origin",
    "find_place",
    "list_served",
    "list_unknown",
    "served_folder",
    "served_locations",
    "tell_server",
]

ORIGIN_FILE = "origin.json"
_MAX_BYTES = 16 * 1024


class Served(Struct, frozen=True):
    """One of them: who it is, and its folder."""

    origin: "Origin"
    folder: str

    @property
    def name(self) -> str:
        return os.path.basename(self.folder)


class Origin(Struct, frozen=True):
    """Where a skill came from: who it is."""

    server: str
    uri: str

    def __str__(self) -> str:
        return f"mcp:{self.server} {self.uri}"


def served_folder(user_dir: str) -> str:
    """Where all of them lie."""
    return f"{user_dir}/mcp-skills"


def find_place(user_dir: str, origin: Origin) -> str:
    """The folder that holds one of them, and what tells where it came from."""
    import hashlib  # most users have none of these

    return f"{served_folder(user_dir)}/{origin.server}/{hashlib.sha256(origin.uri.encode()).hexdigest()[:32]}"


def _read_origin(user_dir: str, place: str) -> Origin | None:
    """Where what lies in a place came from; None where that is not its place. Raises: ClawftError `format-newer`."""
    path = f"{place}/{ORIGIN_FILE}"
    try:
        data = read_optional(path, _MAX_BYTES)
        check_json_version(data or b"", 1, path)
        origin = msgspec.json.decode(data or b"", type=Origin)
    except (Unreadable, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return origin if place == find_place(user_dir, origin) else None


def list_served(user_dir: str) -> list[Served]:
    """All of them, also of servers that are gone, by server and name."""
    found = []
    for location in served_locations(user_dir, lambda _: True):
        for place in _list_folders(location.path):
            origin = _read_origin(user_dir, place)
            found += [Served(origin, folder) for folder in _list_folders(place)] if origin else []
    return sorted(found, key=lambda one: (one.origin.server, one.name, one.origin.uri))


def list_unknown(user_dir: str) -> list[str]:
    """The places whose origin cannot be told: its file is missing, damaged, or of another place."""
    places = [place for one in served_locations(user_dir, lambda _: True) for place in _list_folders(one.path)]
    return [place for place in places if _read_origin(user_dir, place) is None]


def find_origin(found: Found) -> str:
    """Who a skill of an MCP server is, in words: `mcp:SERVER URI`; the server alone where its address is not known."""
    user_dir = os.path.dirname(os.path.dirname(found.location.path))
    return str(_read_origin(user_dir, os.path.dirname(found.folder)) or f"mcp:{found.location.layer}")


def describe_origin(found: Found) -> str:
    """What a model is told of a skill before it reads it, if that came from an MCP server."""
    return tell_server(found.location.layer) if found.location.scope == "mcp" else ""


def tell_server(name: str) -> str:
    return f"(from the MCP server '{name}') "


def served_locations(user_dir: str, has_server: Callable[[str], bool]) -> list[Location]:
    """Where the approved skills of the servers that there are lie, by the name of the server."""
    folders = _list_folders(served_folder(user_dir))
    return [Location("mcp", name, path) for path in folders if has_server(name := os.path.basename(path))]


def _list_folders(folder: str) -> list[str]:
    """The folders in a folder; hidden ones and links are left out."""
    try:
        with os.scandir(folder) as entries:
            return sorted(one.path for one in entries if one.name[0] != "." and one.is_dir(follow_symlinks=False))
    except OSError:
        return []
