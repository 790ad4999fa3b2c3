"""A skill that was downloaded into a hidden folder beside its place: read, and hashed. Nothing of it runs."""

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from clawft.errors import ClawftError, Refused
from clawft.files import read_regular, remove_tree
from clawft.install.archive.pack import SIGNATURE
from clawft.install.archive.unpack import MAX_BYTES
from clawft.install.lockfile.model import LockedFile
from clawft.install.sources.local import find_top
from clawft.install.sources.model import ResolvedSkill
from clawft.install.transaction.targets import check_name
from clawft.scanner.findings import Report
from clawft.skills.discovery import DiscoveredSkill, Location, load_catalog
from clawft.skills.discovery.digest import Content, compute_digest, list_covered
from clawft.skills.parse.model import LEFT_OUT, LEFT_OUT_FILES

_SYNCS = 8
_BY_SLUG = ("clawhub", "contract", "well-known")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class StagedSkill(Struct, frozen=True):
    """A skill in a hidden folder; `name` is that of the folder it goes to."""

    resolved: ResolvedSkill
    name: str
    found: DiscoveredSkill
    digest: str
    files: dict[str, LockedFile]
    report: Report | None = None
    requested: bool = True
    dependencies: tuple[str, ...] = ()  # the names of what it needs, in the same lock

    @property
    def folder(self) -> str:
        return self.found.folder

    @property
    def contents(self) -> dict[str, Content]:
        """The hashes of its files by path, as a digest takes them."""
        return {f"{self.folder}/{name}": (file.sha256.encode(), file.size) for name, file in self.files.items()}


def read_staged(
    resolved: ResolvedSkill, place: str, aside: Callable[[str], str], max_prompt_bytes: int, name: str = ""
) -> StagedSkill:
    """Read a skill that was downloaded into a hidden folder; `aside` returns a path under another name, for a folder
    that must be renamed.

    `name`: the name of the target folder, for a skill that has one already.

    Raises: ClawftError for what is no skill; Refused for what cannot be bound to a digest.
    """
    folder = find_top(place)  # the only folder there, as in archives that were made by hand
    _drop_left_out(folder)
    found = _find_skill(folder, resolved, max_prompt_bytes)
    own = [text for text in (found.skill.name if found.skill else "", resolved.name) if text]
    name = name or check_name(*(reversed(own) if resolved.origin.kind in _BY_SLUG else own))
    if os.path.basename(folder) != name:
        os.rename(folder, folder := aside(name))
        found = _find_skill(folder, resolved, max_prompt_bytes)
    files, contents = _hash_files(folder)
    digest = compute_digest(folder, contents)
    if not digest.value or digest.diagnostics:
        diagnostic = next(iter(digest.diagnostics), None)
        why = diagnostic.message if diagnostic else "There is no digest of it"
        path = os.path.relpath(diagnostic.path, folder) if diagnostic and diagnostic.path else ""
        raise Refused("archive-link", f"{why}, so it is not installed", path=path, hint="Nothing was installed")
    return StagedSkill(resolved, name, found, digest.value, files)


def _drop_left_out(folder: str) -> None:
    """No digest covers these, so nobody brings them along; but for the signature, which is at the top."""
    for at, folders, names in os.walk(folder):
        for name in [folder for folder in folders if folder in LEFT_OUT]:
            remove_tree(os.path.join(at, name))
            folders.remove(name)
        for name in LEFT_OUT_FILES.intersection(names):
            if (at, name) != (folder, SIGNATURE):
                os.unlink(os.path.join(at, name))


def _find_skill(folder: str, resolved: ResolvedSkill, max_prompt_bytes: int) -> DiscoveredSkill:
    catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=max_prompt_bytes)
    found = next((skill for skill in catalog.found if skill.folder == folder), None)
    where = resolved.origin.url
    if found is None:
        inner = sorted({os.path.relpath(skill.folder, folder) for skill in catalog.found})
        hint = f"Name one of the skills in it: {', '.join(inner[:20])}" if inner else "A skill has a SKILL.md"
        raise ClawftError("no-skill", f"There is no skill at the top of '{resolved.name}'", path=where, hint=hint)
    if found.skill is None:
        why = found.problem.message.removeprefix(f"skill/{found.name}: ") if found.problem else "it cannot be read"
        inner_path = resolved.origin.path  # in a place that may hold others
        hint = "To install others from there without it, name each: --skill NAME" if inner_path else ""
        where = f"{where}, {inner_path}" if inner_path else where
        raise ClawftError("skill-broken", f"The skill '{resolved.name}' is broken: {why}", path=where, hint=hint)
    return found


def _hash_files(folder: str) -> tuple[dict[str, LockedFile], dict[str, Content]]:
    """Every file with its hash; and the same as a digest takes it. Raises: Refused, ClawftError."""
    files: dict[str, LockedFile] = {}
    contents: dict[str, Content] = {}
    for relative, path, status in list_covered(folder):
        try:
            name = relative.decode()
        except UnicodeDecodeError as error:
            raise Refused("archive-path", "The name of a file is no text", path=path) from error
        data = read_regular(path, MAX_BYTES)[0]
        sha256 = hashlib.sha256(data).hexdigest()
        files[name] = LockedFile(sha256, len(data), bool(status.st_mode & 0o111))
        contents[path] = (sha256.encode(), len(data))
    return files, contents


def copy_staged(staged: StagedSkill, target: str) -> None:
    """Copy a staged skill to another hidden folder, which is made. Raises: Refused if the copy differs; OSError."""
    os.makedirs(target, mode=0o755)
    for at, folders, names in os.walk(staged.folder):
        into = os.path.join(target, os.path.relpath(at, staged.folder))
        for name in folders:
            os.mkdir(os.path.join(into, name), 0o755)
        for name in names:
            data, status = read_regular(os.path.join(at, name), MAX_BYTES)
            mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
            with open(os.open(os.path.join(into, name), _NEW, mode), "wb") as file:
                file.write(data)
    if compute_digest(target).value != staged.digest:
        raise Refused("install-changed", "The skill changed while it was copied", path=target)


def sync_trees(folders: Sequence[str]) -> None:
    """Make the files in folders survive a loss of power: a rename alone does not. Several at once, since each waits.

    Raises: OSError.
    """
    files = [os.path.join(at, name) for folder in folders for at, _, names in os.walk(folder) for name in names]
    if len(files) > 1:
        with ThreadPoolExecutor(_SYNCS) as pool:
            list(pool.map(_sync, files))
    elif files:
        _sync(files[0])


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
