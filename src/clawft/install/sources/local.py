"""Skills from this machine: a folder, or an archive (`.skill`, `.zip`, `.tar.gz`), with one skill or several."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import anyio.to_thread
from msgspec import structs

from clawft.errors import ClawftError, NotFound, Refused, Unreadable
from clawft.files import NEW, is_within, read_optional, real_path, remove_tree
from clawft.install.archive.unpack import MAX_BYTES, unpack
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.address import read_path
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.install.sources.repository import HOLDING, MAX_DOCUMENT_BYTES, RepositorySkill, find_skills, list_documents
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.parse.model import LEFT_OUT

MAX_ENTRIES = 100_000
MAX_DEPTH = 8
_SKIPPED = frozenset({"node_modules", ".git", "__pycache__"})
_CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalSource:
    """Folders and archives of this machine. It keeps nothing, and nothing is sent anywhere."""

    async def resolve(self, reference: SkillReference) -> tuple[ResolvedSkill, ...]:
        """The skill, or the skills, of a folder or an archive. Raises: ClawftError."""
        origin = SkillOrigin("folder" if reference.kind == "folder" else "archive", reference.url, path=reference.path)
        return await anyio.to_thread.run_sync(_resolve, origin, reference.skill)

    async def renew(self, installed: AvailableVersion, *, exact: bool = False) -> ResolvedSkill:
        """Resolve the current content of the folder or archive; `exact`: only if it is still what was installed.
        Raises: ClawftError; Refused."""
        return await anyio.to_thread.run_sync(_renew, installed, exact)

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        """Put a copy of it into an empty folder. Raises: ClawftError; Refused."""
        return await anyio.to_thread.run_sync(_copy, resolved, folder)

    async def aclose(self) -> None:
        """There is nothing to close."""


def find_in_folder(folder: str, base: str = "", skill: str = "", top: str = "") -> tuple[RepositorySkill, ...]:
    """The skills below a folder of this machine, such as one that an archive was unpacked to. Raises: ClawftError."""
    at = os.path.join(folder, base)
    own = _find_documents(at)
    files = [f"{base}/{name}" if base else name for name in own] if own and not skill else list(_list_files(folder))
    documents = list_documents(files, base, skill)
    contents = {path: read_optional(os.path.join(folder, path), MAX_DOCUMENT_BYTES) or b"" for path in documents}
    return find_skills(contents, base, skill, top, holding=not base and os.path.basename(folder) in HOLDING)


def _find_documents(folder: str) -> list[str]:
    return [name for name in _names(folder) if name.lower() in ("skill.md", "skill.json")]


def find_top(folder: str) -> str:
    """Find the folder where the content of an archive begins: its only folder at the top, or the top itself."""
    names = _names(folder)
    inner = os.path.join(folder, names[0]) if len(names) == 1 else ""
    return inner if inner and os.path.isdir(inner) and not os.path.islink(inner) else folder


def move_up(place: str, folder: str) -> None:
    """Move all that lies in one folder into another, which is empty, on the same file system. Raises: OSError."""
    for name in os.listdir(place):
        os.rename(os.path.join(place, name), os.path.join(folder, name))


def _resolve(origin: SkillOrigin, skill: str) -> tuple[ResolvedSkill, ...]:
    if origin.kind == "folder":
        place = _check_folder(origin.url)
        top = os.path.basename(os.path.join(place, origin.path).rstrip("/"))
        held = find_in_folder(place, origin.path, skill, top)
        return tuple(_resolved(origin, found_skill) for found_skill in held)
    with _unpacked(origin.url) as (place, archive):
        top = find_top(place)
        called = os.path.basename(top if top != place else origin.url).partition(".")[0]
        held = find_in_folder(top, origin.path, skill, called)
    return tuple(structs.replace(_resolved(origin, found_skill), archive=archive) for found_skill in held)


def _resolved(origin: SkillOrigin, one: RepositorySkill) -> ResolvedSkill:
    return ResolvedSkill(
        structs.replace(origin, path=one.path),
        one.name,
        version=one.version,
        url=origin.url,
        description=one.description,
        notes=one.notes,
    )


def _renew(installed: AvailableVersion, exact: bool) -> ResolvedSkill:
    origin = structs.replace(installed.origin, path=read_path(installed.origin.path))
    if not os.path.isabs(origin.url):
        raise Refused("source-changed", "It was installed from a place that is no path", path=origin.url)
    if origin.kind == "folder" and not _find_documents(os.path.join(origin.url, origin.path)):
        raise _missing(os.path.join(origin.url, origin.path))  # a lock may name any folder: none is searched
    found = next((skill for skill in _resolve(origin, "") if skill.origin.path == origin.path), None)
    if found is None:
        raise _missing(os.path.join(origin.url, origin.path))
    if exact and installed.digest:
        with tempfile.TemporaryDirectory() as place:
            _copy(found, place)
            if compute_digest(place).value != installed.digest:
                hint = "To have it as it is now: weft skills update"
                raise Refused("source-changed", f"{found.name} is no longer what was installed", hint=hint)
    return found


def _copy(resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
    origin = resolved.origin
    if origin.kind == "folder":
        place = os.path.join(_check_folder(origin.url), origin.path)
        source, target = real_path(place), real_path(folder)
        # A folder cannot be copied into itself, unless to where nothing is copied from.
        if is_within(target, source) and LEFT_OUT.isdisjoint(os.path.relpath(target, source).split("/")):
            message, hint = "The skill's folder holds the one it would go to", "Move the skill into a folder of its own"
            raise Refused("source-holds-target", message, path=place, hint=hint)
        unpack(place, folder)
        return resolved
    with _unpacked(origin.url, folder) as (place, archive):
        if resolved.archive and archive != resolved.archive:
            raise Refused("source-changed", "The archive changed while it was looked at", path=origin.url)
        move_up(os.path.join(find_top(place), origin.path), folder)
    return structs.replace(resolved, archive=archive)


def _check_folder(path: str) -> str:
    if not os.path.isdir(path):
        raise _missing(path)
    return path


@contextmanager
def _unpacked(path: str, within: str | None = None) -> Iterator[tuple[str, str]]:
    """Unpack an archive, and yield its folder and its sha256. The hash is that of the unpacked bytes, even if another
    process writes to the archive meanwhile.

    `within`: the folder that its files are to be moved to. Raises: ClawftError.
    """
    parent = tempfile.mkdtemp(prefix=NEW, dir=within)
    try:
        copy, place = os.path.join(parent, "archive"), os.path.join(parent, "files")
        os.mkdir(place, 0o700)
        digest = _copy_file(path, copy)
        unpack(copy, place)
        yield place, digest
    except ClawftError as error:
        diagnostic = error.diagnostic
        if not diagnostic.path.startswith(parent):
            raise
        raise type(error)(diagnostic.code, diagnostic.message, path=path, hint=diagnostic.hint) from error
    finally:
        remove_tree(parent)


def _copy_file(path: str, copy: str) -> str:
    """Raises: NotFound; Refused for what is larger than any archive may be."""
    content, size = hashlib.sha256(), 0
    try:
        descriptor = os.open(os.path.realpath(path), _READ)
    except OSError as error:
        raise _missing(path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _missing(path)
    with open(descriptor, "rb") as source, open(os.open(copy, _NEW, 0o600), "wb") as target:
        while piece := source.read(_CHUNK):
            size += len(piece)
            if size > MAX_BYTES:
                message = f"It has more than {MAX_BYTES >> 20} MB"
                raise Refused("archive-too-large", message, path=path, hint="Nothing was installed")
            content.update(piece)
            target.write(piece)
    return content.hexdigest()


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise _missing(folder) from error


def _list_files(folder: str) -> Iterator[str]:
    """Yield the files that can mark or list a skill; links are not followed. Raises: ClawftError."""
    count, pending = 0, [("", 0)]
    while pending:
        prefix, depth = pending.pop()
        for entry in _scan(os.path.join(folder, prefix)):
            count += 1
            if count > MAX_ENTRIES:
                hint = "Name the folder of the one you mean"
                raise ClawftError("source-too-many", f"It holds more than {MAX_ENTRIES} files", path=folder, hint=hint)
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and depth < MAX_DEPTH:
                    pending.append((f"{prefix}{entry.name}/", depth + 1))
            elif entry.is_file(follow_symlinks=False):
                yield f"{prefix}{entry.name}"


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        message = f"The folder cannot be read: {error.strerror}"
        raise Unreadable("unreadable", message, path=folder, hint="Name the folder of the one you mean") from error


def _missing(path: str) -> NotFound:
    return NotFound("source-missing", "What it is installed from is not there", path=path, hint="Check the path")
