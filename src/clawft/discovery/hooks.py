"""Hooks on disk: folders with a HOOK.md and a handler, by themselves, in packs, or in the `hooks/` of a skill
(INTEROP 5). What is wrong with one is said of it, and keeps no other from being found."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.claude_hooks import NAMES
from clawft.discovery.digest import Content, hash_content
from clawft.discovery.listing import LEFT_OUT
from clawft.discovery.locations import Location
from clawft.discovery.packs import load_pack
from clawft.discovery.read import MAX_FILE_BYTES
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_regular, real_path
from clawft.format.hook import HANDLERS, Hook, parse_hook
from clawft.format.text import decode_text

__all__ = ["HOOK_FILE", "FoundHook", "load_hooks", "load_skill_hooks"]

HOOK_FILE = "HOOK.md"
MAX_HOOKS = 200  # of one folder
_BOUND = frozenset({"project", "plugin"})  # whose links may lead nowhere else


class FoundHook(Struct, frozen=True):
    """One folder of a hook: the hook in it, or what is wrong with it. `root` is what a digest covers: the folder
    itself, that of its pack, or that of the skill it belongs to. `content` is of the HOOK.md as it was read."""

    scope: str
    layer: str
    folder: str
    root: str
    hook: Hook | None = None
    handler: str = ""
    problem: Diagnostic | None = None
    skill: Found | None = None
    content: Content | None = None

    @property
    def file(self) -> str:
        return f"{self.folder}/{HOOK_FILE}"

    @property
    def name(self) -> str:
        return self.hook.name if self.hook else os.path.basename(self.folder)


def load_hooks(locations: Iterable[Location]) -> tuple[FoundHook, ...]:
    """Every hook of these folders, in their order."""
    return tuple(hook for location in locations for hook in _load_location(location))


def load_skill_hooks(skills: Sequence[Found]) -> tuple[FoundHook, ...]:
    """The hooks that skills bring along: `hooks/HOOK.md`, `hooks/NAME/HOOK.md`."""
    found = []
    for skill in skills:
        base = f"{skill.base_dir}/hooks" if skill.base_dir else ""
        if base and os.path.isdir(base):
            blank = FoundHook(skill.location.scope, skill.location.layer, base, skill.folder, skill=skill)
            found += [_load(one, blank) for one in _list(base)[:MAX_HOOKS]]
    return tuple(found)


def _load_location(location: Location) -> Iterator[FoundHook]:
    path, bound = location.path, location.scope in _BOUND
    for count, blank in enumerate(_find(location)):
        if count == MAX_HOOKS:
            message = f"The folder has more than {MAX_HOOKS} hooks; the rest is left out"
            yield _broken(blank, Diagnostic("hook-limit", "warning", message, path))
            return
        if blank.problem is not None:
            yield blank
        elif bound and not is_within(real_path(blank.root), real_path(path)):
            yield _broken(blank, _leaves(blank.folder))
        else:
            yield _load(blank.folder, blank)


def _find(location: Location) -> Iterator[FoundHook]:
    """Where hooks are to be read: single ones, and those of packs."""
    scope, layer = location.scope, location.layer
    for folder in _list(location.path, packs=True):
        if _has(folder, HOOK_FILE):
            yield FoundHook(scope, layer, folder, folder)
            continue
        try:
            members = load_pack(folder)
        except ClawftError as error:
            yield FoundHook(scope, layer, folder, folder, problem=error.diagnostic)
            continue
        for one in members:
            covered = is_within(one, folder) and LEFT_OUT.isdisjoint(one[len(folder) :].split("/"))
            yield FoundHook(scope, layer, one, folder, problem=None if covered else _leaves(one))


def _list(path: str, *, packs: bool = False) -> list[str]:
    """The folder itself and those in it, as far as they hold a hook, or a pack of them."""
    try:
        with os.scandir(path) as entries:  # which knows of most files, without a look at each, that they are no folder
            names = sorted(one.name for one in entries if one.is_dir(follow_symlinks=False) or one.is_symlink())
    except OSError:
        return []
    inside = [f"{path}/{name}" for name in names if not name.startswith(".") and name not in LEFT_OUT]
    return [one for one in (path, *inside) if _has(one, HOOK_FILE) or (packs and _has(one, "package.json"))]


def _has(folder: str, name: str) -> bool:
    return os.path.lexists(f"{folder}/{name}")


def _load(folder: str, blank: FoundHook) -> FoundHook:
    """The hook of a folder. All of it are plain files: only those are covered by a digest."""
    found = FoundHook(blank.scope, blank.layer, folder, blank.root, skill=blank.skill)
    root = blank.root
    try:
        if real_path(folder) != real_path(root) + folder[len(root) :]:
            return _broken(found, _leaves(folder))
        data = read_regular(found.file, MAX_FILE_BYTES)[0]
        hook = parse_hook(decode_text(data, found.file).text, os.path.basename(folder), path=found.file)
        if hook.name in NAMES:
            message = f"'{hook.name}' is the name of Claude Code's settings"
            raise Unreadable("hook-name", message, path=found.file, hint="Give it another name")
        handler = _find_handler(folder)
    except (FileNotFoundError, NotADirectoryError):
        return _broken(found, Diagnostic("hook-missing", "error", f"There is no {HOOK_FILE} there", folder))
    except ClawftError as error:
        return _broken(found, error.diagnostic)
    content = hash_content(data)
    return FoundHook(found.scope, found.layer, folder, root, hook, handler, skill=found.skill, content=content)


def _find_handler(folder: str) -> str:
    """The first of the names that a handler may have. Raises: Unreadable."""
    names = ", ".join(HANDLERS[:2])
    for name in HANDLERS:
        path = f"{folder}/{name}"
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            hint = "Put a plain file in its place"
            raise Unreadable("hook-handler", "The handler is a link, or no file at all", path=path, hint=hint)
        return name
    raise Unreadable("hook-handler", "There is no handler", path=folder, hint=f"Put one of {names} beside HOOK.md")


def _broken(found: FoundHook, problem: Diagnostic) -> FoundHook:
    return FoundHook(found.scope, found.layer, found.folder, found.root, problem=problem, skill=found.skill)


def _leaves(path: str) -> Diagnostic:
    hint = "Put a copy of it into the folder itself"
    return Diagnostic("link-leaves-root", "error", "It lies outside, or a link leads there", path, 0, hint)
