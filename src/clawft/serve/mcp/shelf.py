"""The daemon's skills as the MCP Skills extension has them: those that may be used, and nothing of the others.

What is listed of a skill is what its digest and its approval cover, and what is read of it has to be what was listed.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from anyio import to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from clawft.app import App
from clawft.discovery import Found
from clawft.discovery.digest import hash_content, join_digest, list_covered
from clawft.discovery.locations import SCOPES, Location
from clawft.errors import ClawftError, Refused
from clawft.files import read_regular
from clawft.mcp.skills_extension import (
    ENTRY_FILE,
    MAX_BYTES,
    MAX_FILES,
    SCHEME,
    ServedFile,
    ServedSkill,
    can_serve,
    read_front,
)
from clawft.protocol.changes import SkillsChanged
from clawft.serve.daemon import Daemon
from clawft.serve.mcp.asking import NAMESPACE, CallerOf, Context, need, refuse
from clawft.trust import Standing

__all__ = ["CatalogShelf", "Shelved"]

_Seen = tuple[tuple[bytes, int, int, int, int], ...]


class Shelved(ServedSkill, frozen=True):
    """A skill of the catalog that can be served, and how it stands."""

    standing: Standing


class CatalogShelf:
    """What of the current generation is served. Within it, files are read again only where they changed."""

    def __init__(self, daemon: Daemon, caller_of: CallerOf) -> None:
        self._daemon = daemon
        self._caller_of = caller_of
        self._app: App | None = None  # that what is known belongs to
        self._known: dict[str, tuple[_Seen, Shelved | None]] = {}

    async def list(self, context: Context, limit: int, cursor: str) -> tuple[Sequence[Shelved], str]:
        app = await self._open(context)
        usable = sorted(_usable(app), key=lambda one: one.name)
        start = 0
        if cursor:
            start = next((at + 1 for at, one in enumerate(usable) if one.name == cursor), -1)
        if start < 0:
            raise MCPError(INVALID_PARAMS, "That place in the list is not there any more: begin again")
        part = usable[start : start + limit]
        served = await to_thread.run_sync(self._serve_all, app, part)
        return served, part[-1].name if start + limit < len(usable) else ""

    async def find(self, context: Context, address: str) -> tuple[Shelved, str] | None:
        app = await self._open(context)
        prefix, _, rest = address.removeprefix(SCHEME).partition("/")
        name, _, path = rest.partition("/")
        if not address.startswith(SCHEME):
            return None
        wanted = (unquote(prefix), unquote(name))
        found = next((one for one in _usable(app) if (_prefix(one.found.location), one.name) == wanted), None)
        served = await to_thread.run_sync(self._serve_all, app, (found,)) if found else ()
        return (served[0], unquote(path)) if served else None

    async def read(self, _context: Context, served: Shelved, file: ServedFile) -> bytes:
        return await to_thread.run_sync(_read, served, file)

    def describe(self, served: Shelved) -> dict[str, Any]:
        found = served.standing.found
        return {
            f"{NAMESPACE}/scope": found.location.scope,
            f"{NAMESPACE}/version": found.skill.version if found.skill else "",
            f"{NAMESPACE}/state": served.standing.state,
        }

    def list_changed(self, change: SkillsChanged) -> tuple[str, ...]:
        """The addresses of what was listed of skills that are not what they were."""
        names = {one.name for one in (*change.changed, *change.removed)}
        seen = tuple(self._known.values())  # at once: threads add to it
        known = [one for _, one in seen if one is not None and one.standing.name in names]
        return tuple(one.address(file.path) for one in known for file in one.files)

    async def _open(self, context: Context) -> App:
        """Raises: MCPError."""
        need(self._caller_of(context), "read")
        app = (await self._daemon.registry.live.refresh()).app
        if app is not self._app:
            self._app, self._known = app, {}
        return app

    def _serve_all(self, app: App, standings: Sequence[Standing]) -> tuple[Shelved, ...]:
        found = [self._serve(app, one) for one in standings]
        return tuple(one for one in found if one is not None)

    def _serve(self, app: App, standing: Standing) -> Shelved | None:
        """None for what no host would take, and for what is not what was approved."""
        folder = standing.found.folder
        covered = list_covered(folder)
        seen = tuple((name, one.st_mtime_ns, one.st_size, one.st_ino, one.st_mode) for name, _, one in covered)
        known = self._known.get(folder)
        if known is not None and known[0] == seen:
            return known[1]
        try:
            served = _load(app, standing)
        except (ClawftError, OSError):  # it changes just now, or was taken back: then it is not there
            served = None
        self._known[folder] = (seen, served)
        return served


def _usable(app: App) -> list[Standing]:
    """Skills with a folder of their own: a command is a prompt and nothing else."""
    return [one for one in app.skills if one.usable and one.found.base_dir]


def _prefix(location: Location) -> str:
    """Where a skill is from, as an address has it; that of a server that is called `user` is not the user's."""
    own = location.scope != "mcp" or location.layer not in SCOPES
    return location.prefix if own else f"mcp.{location.layer}"


def _load(app: App, standing: Standing) -> Shelved | None:
    """Raises: ClawftError for what may not be used; OSError."""
    found = standing.found
    covered = list_covered(found.folder)
    if len(covered) > MAX_FILES or sum(status.st_size for _, _, status in covered) > MAX_BYTES:
        return None
    files: list[ServedFile] = []
    hashed = []
    front = None
    for name, path, status in covered:
        data, _ = read_regular(path, MAX_BYTES)
        digest, size = hash_content(data)
        hashed.append((name, bool(status.st_mode & 0o111), (digest, size)))
        files.append(ServedFile(os.fsdecode(name), digest.decode(), size))
        if name == ENTRY_FILE.encode():
            front = read_front(data)
    if front is None or front.get("name") != standing.name or not can_serve(front, files) or not _are_texts(files):
        return None
    _check_same(app, found, join_digest(hashed))
    root = f"{SCHEME}{quote(_prefix(found.location))}/{quote(standing.name)}"
    return Shelved(root, front, tuple(files), standing)


def _are_texts(files: Sequence[ServedFile]) -> bool:
    """Whether every name can be said in JSON."""
    return all(one.path.isprintable() for one in files)


def _check_same(app: App, found: Found, digest: str) -> None:
    """What is served is what may be used now. Raises: ClawftError."""
    if app.load_cleared(found).digest != digest:
        raise Refused("skill-changed", "The skill changed while it was read", path=found.folder)


def _read(served: Shelved, file: ServedFile) -> bytes:
    """The bytes that were listed. Raises: MCPError for others."""
    path = os.path.join(served.standing.found.folder, file.path)
    try:
        data, _ = read_regular(path, MAX_BYTES)
    except (ClawftError, OSError):
        data = b""
    if (len(data), sha256(data).hexdigest()) != (file.size, file.sha256):
        message = f"The file '{file.path}' of the skill changed since it was listed"
        raise refuse(Refused("skill-changed", message, hint="List the skill again: skills/get"))
    return data
