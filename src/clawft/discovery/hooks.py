"""Hooks on disk: folders with a HOOK.md and a handler, by themselves or in the `hooks/` of a skill (INTEROP 5)."""

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.locations import Location
from clawft.discovery.read import MAX_FILE_BYTES
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_regular, real_path
from clawft.format.hook import HANDLERS, Hook, parse_hook
from clawft.format.text import decode_text

__all__ = ["HOOK_FILE", "FoundHook", "load_hooks", "load_skill_hooks"]

HOOK_FILE = "HOOK.md"
MAX_HOOKS = 200  # of one folder


class FoundHook(Struct, frozen=True):
    """One folder of a hook: the hook in it, or what is wrong with it. `root` is what a digest covers: the folder
    itself, or that of the skill it belongs to."""

    scope: str
    layer: str
    folder: str
    root: str
    hook: Hook | None = None
    handler: str = ""
    problem: Diagnostic | None = None
    skill: Found | None = None

    @property
    def file(self) -> str:
        return f"{self.folder}/{HOOK_FILE}"

    @property
    def name(self) -> str:
        return self.hook.name if self.hook else os.path.basename(self.folder)


def load_hooks(locations: Iterable[Location]) -> tuple[FoundHook, ...]:
    """Every hook of these folders, in their order."""
    return tuple(
        _load(folder, location.scope, location.layer, folder, None)
        for location in locations
        for folder in _folders(location.path)
    )


def load_skill_hooks(skills: Sequence[Found]) -> tuple[FoundHook, ...]:
    """The hooks that skills bring along: `hooks/HOOK.md`, `hooks/NAME/HOOK.md`."""
    found = []
    for skill in skills:
        base = f"{skill.base_dir}/hooks" if skill.base_dir else ""
        if base and os.path.isdir(base):
            alone = [base] if os.path.lexists(f"{base}/{HOOK_FILE}") else []
            at = skill.location
            found += [_load(one, at.scope, at.layer, skill.folder, skill) for one in (*alone, *_folders(base))]
    return tuple(found)


def _folders(path: str) -> list[str]:
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return []
    inside = [f"{path}/{name}" for name in names if not name.startswith(".")]
    return [one for one in inside if os.path.lexists(f"{one}/{HOOK_FILE}")][:MAX_HOOKS]


def _load(folder: str, scope: str, layer: str, root: str, skill: Found | None) -> FoundHook:
    path = f"{folder}/{HOOK_FILE}"
    try:
        if not is_within(real_path(path), real_path(root)):
            raise Unreadable("link-leaves-root", "The link leads out of the hook's folder", path=path)
        text = decode_text(read_regular(path, MAX_FILE_BYTES)[0], path).text
        hook = parse_hook(text, os.path.basename(folder), path=path)
        handler = next((one for one in HANDLERS if os.path.lexists(f"{folder}/{one}")), "")
        if not handler or not os.path.isfile(f"{folder}/{handler}") or os.path.islink(f"{folder}/{handler}"):
            hint = f"Put one of {', '.join(HANDLERS[:2])} beside it, as a plain file"
            raise Unreadable("hook-handler-missing", "There is no handler", path=folder, hint=hint)
    except (FileNotFoundError, NotADirectoryError):
        problem = Diagnostic("unreadable", "error", "The link leads to nothing", path)
        return FoundHook(scope, layer, folder, root, problem=problem, skill=skill)
    except ClawftError as error:
        return FoundHook(scope, layer, folder, root, problem=error.diagnostic, skill=skill)
    return FoundHook(scope, layer, folder, root, hook, handler, skill=skill)
