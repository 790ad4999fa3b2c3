"""The files of a skill that a server offers, read into a folder: each is what the listing says, or none of it stays."""

import hashlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from clawft.discovery.digest import compute_digest
from clawft.errors import Refused
from clawft.mcp.skill_entries import LIMITS, Offered
from clawft.mcp.skills_extension import ENTRY_FILE, ServedFile, read_front
from clawft.packing.target import Target

__all__ = ["fetch_files", "is_same_front"]

_AT_ONCE = 8
_AGAIN = "Nothing of it was kept. If it was changed just now, try again"

Read = Callable[[str, str, int], Awaitable[bytes]]  # the server, an address, how many bytes at most


async def fetch_files(read: Read, offered: Offered, folder: str) -> None:
    """Read every file that a skill lists into a new folder; SKILL.md first, which has to say what the listing says.

    Raises: Refused for what is not as it was promised, RemoteError, OSError. Then the folder is to be removed.
    """
    assert offered.skill is not None, "what is refused is not read"
    os.mkdir(folder, 0o700)
    target = Target(folder, offered.uri, LIMITS)
    listed = zip(offered.skill.files, offered.addresses, strict=True)
    pending = sorted(listed, key=lambda one: one[0].path != ENTRY_FILE)

    async def take() -> None:
        while pending:
            file, address = pending.pop(0)
            data = await read(offered.server, address, file.size)
            _check(offered, file, data)
            target.write(target.claim(file.path), data, executable=False)

    file, address = pending.pop(0)
    front = await read(offered.server, address, file.size)
    _check(offered, file, front)
    if not is_same_front(read_front(front), offered.skill.front):
        message = f"The SKILL.md of '{offered.name}' does not say what the listing of its server says"
        raise Refused("mcp-skill-frontmatter", message, path=offered.uri, hint=_AGAIN)
    target.write(target.claim(file.path), front, executable=False)
    try:
        async with anyio.create_task_group() as group:
            for _ in range(min(_AT_ONCE, len(pending))):
                group.start_soon(take)
    except ExceptionGroup as error:
        raise error.exceptions[0] from error
    if compute_digest(folder).value != offered.digest:
        message = f"'{offered.name}' is not what the listing of its server says"
        raise Refused("mcp-skill-digest", message, path=offered.uri, hint=_AGAIN)


def is_same_front(written: Any, listed: Any) -> bool:
    """Whether a frontmatter is, field by field, what a listing says; true is not 1 here."""
    if isinstance(written, dict) and isinstance(listed, dict):
        return written.keys() == listed.keys() and all(is_same_front(written[key], listed[key]) for key in written)
    if isinstance(written, list) and isinstance(listed, list):
        return len(written) == len(listed) and all(map(is_same_front, written, listed))
    return isinstance(written, bool) == isinstance(listed, bool) and bool(written == listed)


def _check(offered: Offered, file: ServedFile, data: bytes) -> None:
    """Raises: Refused."""
    if len(data) != file.size or hashlib.sha256(data).hexdigest() != file.sha256:
        message = f"The file {file.path[:120]!a} of '{offered.name}' is not what the listing of its server says"
        raise Refused("mcp-skill-digest", message, path=offered.uri, hint=_AGAIN)
