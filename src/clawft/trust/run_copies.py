"""Private copies of skills and scripts that programs run from, checked against the approved digest."""

import os
import shutil
import stat
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from itertools import islice

from anyio import CancelScope, to_thread

from clawft.errors import ClawftError, Refused
from clawft.files import is_within, read_regular
from clawft.skills.discovery.digest import open_copy, open_place
from clawft.trust.approvals import hash_bytes
from clawft.trust.command_hooks import MAX_SCRIPT

_LEFT_S = 2 * 86_400  # longer than any program may run
_MAX_SIBLINGS = 10_000  # entries of one folder that a copied script finds beside itself


@asynccontextmanager
async def open_skill_copy(user_dir: str, folder: str, digest: str) -> AsyncIterator[str]:
    """A copy of a skill's folder, made and removed beside the loop, and removed whatever happens.

    Raises: Refused if the skill is not, or no longer, what has this digest; OSError.
    """
    below = os.path.join(user_dir, "cache", "programs")
    async with _open(open_copy(folder, digest, below), below) as copy:
        yield copy


@asynccontextmanager
async def open_script_copies(
    user_dir: str, project: str, scripts: Mapping[str, str], hint: str
) -> AsyncIterator[tuple[str, Mapping[str, str]]]:
    """A folder with copies of scripts of a project, and where each is; `scripts` are paths with the hash of the file.

    Each lies as deep as in the project, among links to what lies beside it there. Raises: Refused for one that is not,
    or no longer, what has its hash; OSError.
    """
    places = {path: _find_place(path, project) for path in scripts}
    below = os.path.join(user_dir, "cache", "programs")
    async with _open(open_place(below), below) as root:
        await to_thread.run_sync(_copy_scripts, root, project, scripts, places, hint)
        yield root, {path: os.path.join(root, place) for path, place in places.items()}


def _find_place(path: str, project: str) -> str:
    """Return the place of a script's copy, after all links: as in the project, or by itself."""
    if is_within(path, project):
        return os.path.relpath(path, project)
    return os.path.join(hash_bytes(os.fsencode(path))[-16:], os.path.basename(path))


@asynccontextmanager
async def _open(copying: AbstractContextManager[str], below: str) -> AsyncIterator[str]:
    await to_thread.run_sync(_sweep, below)
    with CancelScope(shield=True):
        copy = await to_thread.run_sync(copying.__enter__)
    try:
        yield copy
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(copying.__exit__, None, None, None)


def _copy_scripts(root: str, project: str, scripts: Mapping[str, str], places: Mapping[str, str], hint: str) -> None:
    folders = {""}
    for path, approved in scripts.items():
        place = places[path]
        os.makedirs(os.path.dirname(os.path.join(root, place)), mode=0o700, exist_ok=True)
        _copy_script(path, os.path.join(root, place), approved, hint)
        while place := os.path.dirname(place):
            folders.add(place)
    for folder in folders:
        with suppress(OSError), os.scandir(os.path.join(project, folder)) as entries:
            for entry in islice(entries, _MAX_SIBLINGS):
                with suppress(FileExistsError):  # a copy, or the folder of one
                    os.symlink(os.path.join(project, folder, entry.name), os.path.join(root, folder, entry.name))


def _copy_script(path: str, place: str, approved: str, hint: str) -> None:
    """Raises: Refused; OSError."""
    try:
        content, status = read_regular(path, MAX_SCRIPT, follow=True)
    except (OSError, ClawftError):
        content, status = b"", None
    if status is None or hash_bytes(content) != approved:
        raise Refused("hook-changed", f"{path} changed since it was approved", path=path, hint=hint)
    mode = stat.S_IRUSR | (stat.S_IXUSR if status.st_mode & 0o111 else 0)
    with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        file.write(content)


def _sweep(below: str) -> None:
    """Remove the copies of processes that were killed."""
    with suppress(FileNotFoundError), os.scandir(below) as entries:
        for entry in entries:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _LEFT_S:
                shutil.rmtree(entry.path, ignore_errors=True)
