"""Hooks on disk: folders with a HOOK.md, hook packs, and command hooks in settings files, plugins and skills."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_optional, read_regular, real_path
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import Content, hash_content
from clawft.skills.discovery.locations import Location, PluginHooks
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.skills.parse.hooks import HANDLERS, CommandHook, Hook, parse_command_hooks, parse_hook, parse_skill_commands
from clawft.skills.parse.model import LEFT_OUT, NAMESPACES, Skill
from clawft.skills.parse.text import decode_text
from clawft.workspace import Workspace

MAX_PACK_BYTES = 1 << 20
MAX_UP = 8


def load_pack(folder: str) -> list[str]:
    """The folders of a pack's hooks, wherever they are said to be; none for a folder that is no pack.

    Raises: Unreadable.
    """
    path = os.path.join(folder, "package.json")
    data = read_optional(path, MAX_PACK_BYTES)
    if data is None:
        return []
    try:
        package = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Unreadable("hook-pack", f"It is no JSON: {error}", path=path) from error
    named = [listed for listed in _named(package) if isinstance(listed, str) and listed and "\0" not in listed]
    return list(dict.fromkeys(os.path.normpath(os.path.join(folder, listed)) for listed in named))


def find_pack(folder: str) -> str:
    """The pack that a hook's folder belongs to; the folder itself where there is none."""
    above = os.path.dirname(folder)
    for _ in range(MAX_UP):
        try:
            if folder in load_pack(above):
                return above
        except Unreadable:
            break
        above = os.path.dirname(above)
    return folder


def _named(package: Any) -> list[Any]:
    """Return the hooks that a client's block of a package.json lists."""
    if isinstance(package, dict):
        for name in NAMESPACES:
            block = package.get(name)
            if isinstance(block, dict) and isinstance(block.get("hooks"), list):
                return list(block["hooks"])
    return []


MAX_SETTINGS_BYTES = 1 << 20
# Settings go by these: no other hook has one of them.
NAMES = ("claude-user", "claude-project", "claude-local", "claude-here")


class DiscoveredCommandHooks(Struct, frozen=True):
    """The command hooks of one file, or of one skill. `written` is what an approval of a project's is bound to;
    `folder` is that of a plugin."""

    name: str
    scope: str
    file: str
    hooks: tuple[CommandHook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    written: bytes = b""
    off: bool = False  # it says `disableAllHooks`
    problem: Diagnostic | None = None
    skill: DiscoveredSkill | None = None
    folder: str = ""

    @property
    def kind(self) -> Literal["commands"]:
        return "commands"

    @property
    def events(self) -> tuple[str, ...]:
        """The events that the hooks run on, by Claude's names."""
        return tuple(dict.fromkeys(hook.event for hook in self.hooks))

    @property
    def origin(self) -> str:
        """The place they come from, or the skill they belong to."""
        if self.skill is not None:
            return f"skill {self.skill.name}"
        return self.name.replace(":", " ", 1) if self.scope == "plugin" else self.scope


def load_claude_hooks(workspace: Workspace, plugins: Iterable[PluginHooks] = ()) -> tuple[DiscoveredCommandHooks, ...]:
    """Those of the settings files that have hooks, or say something of them: the user's first; then of plugins."""
    home, project = f"{workspace.home}/.claude", f"{workspace.project}/.claude"
    places = [(NAMES[0], _find_scope(workspace, f"{home}/settings.json"), f"{home}/settings.json")]
    if real_path(home) != real_path(project):
        places.append((NAMES[1], "project", f"{project}/settings.json"))
        places.append((NAMES[2], "project", f"{project}/settings.local.json"))
    found = [_load(*place) for place in places]
    return (*(entry for entry in found if entry is not None), *load_plugin_commands(plugins))


def load_plugin_commands(plugins: Iterable[PluginHooks]) -> tuple[DiscoveredCommandHooks, ...]:
    """Those of plugins, under the name `plugin:ID`; of further files with the name of the file behind it."""
    found = []
    for plugin in plugins:
        for number, file in enumerate(plugin.files):
            more = f":{os.path.basename(file).removesuffix('.json')}" if number else ""
            found.append(_load(f"plugin:{plugin.id}{more}", "plugin", file, plugin.folder))
    return tuple(entry for entry in found if entry is not None)


def _find_scope(workspace: Workspace, file: str) -> str:
    """Return the scope of the user's file: "project" where a link leads into the project, since tools can write
    there."""
    real, closed = real_path(file), f"{real_path(workspace.home)}/.claude"
    return "project" if is_within(real, real_path(workspace.project)) and not is_within(real, closed) else "user"


def load_skill_commands(skills: Iterable[DiscoveredSkill]) -> tuple[DiscoveredCommandHooks, ...]:
    """Those of skills, each under the name `skill:NAME`."""
    found = []
    for discovered in skills:
        skill = discovered.skill
        if skill is None or not (skill.hooks or skill.hook_before or skill.hook_after):
            continue
        read = parse_skill_commands(skill, discovered.file)
        scope = discovered.location.scope
        found.append(
            DiscoveredCommandHooks(
                f"skill:{discovered.name}", scope, discovered.file, read.hooks, read.diagnostics, skill=discovered
            )
        )
    return tuple(found)


def _load(name: str, scope: str, file: str, folder: str = "") -> DiscoveredCommandHooks | None:
    try:
        data = read_optional(file, MAX_SETTINGS_BYTES, follow=not folder)  # what a digest covers holds no links
        settings = _decode(data, file) if data is not None else {}
    except ClawftError as error:
        return DiscoveredCommandHooks(name, scope, file, problem=error.diagnostic)
    except OSError as error:
        problem = Diagnostic("unreadable", "error", f"It cannot be read: {error.strerror}", file)
        return DiscoveredCommandHooks(name, scope, file, problem=problem)
    written, off = settings.get("hooks"), settings.get("disableAllHooks") is True
    if not written and not off:
        return None
    read = parse_command_hooks(written or {}, file)
    hooks_json = msgspec.json.encode(written, order="deterministic")
    return DiscoveredCommandHooks(
        name, scope, os.path.abspath(file), read.hooks, read.diagnostics, hooks_json, off, folder=folder
    )


def _decode(data: bytes, file: str) -> dict[str, Any]:
    try:
        settings = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClawftError(
            "settings-invalid", f"It is no JSON, so none of its hooks is run: {error}", path=file
        ) from error
    return settings if isinstance(settings, dict) else {}


HOOK_FILE = "HOOK.md"
MAX_HOOKS = 200  # of one folder
_BOUND = frozenset({"project", "plugin"})  # whose links may lead nowhere else


class DiscoveredHook(Struct, frozen=True):
    """One folder of a hook: the hook in it, or what is wrong with it. `root` is what a digest covers: the folder
    itself, that of its pack, or that of the skill it belongs to. `content` is of the HOOK.md as it was read."""

    scope: str
    layer: str
    folder: str
    root: str
    hook: Hook | None = None
    handler: str = ""
    problem: Diagnostic | None = None
    skill: DiscoveredSkill | None = None
    content: Content | None = None

    @property
    def kind(self) -> Literal["hook"]:
        return "hook"

    @property
    def file(self) -> str:
        return f"{self.folder}/{HOOK_FILE}"

    @property
    def name(self) -> str:
        return self.hook.name if self.hook else os.path.basename(self.folder)

    @property
    def location(self) -> Location:
        return Location(self.scope, self.layer, os.path.dirname(self.root))

    @property
    def base_dir(self) -> str:
        return self.root

    @property
    def seen(self) -> None:
        """Nothing of it is cached."""

    @property
    def about(self) -> Skill | None:
        return self.hook.about if self.hook else None

    @property
    def events(self) -> tuple[str, ...]:
        return self.hook.events if self.hook else ()

    @property
    def origin(self) -> str:
        """The place it comes from, or the skill it belongs to."""
        if self.skill is not None:
            return f"skill {self.skill.name}"
        return f"{self.scope} {self.layer}" if self.scope == "plugin" else self.scope


def load_hooks(locations: Iterable[Location]) -> tuple[DiscoveredHook, ...]:
    """Every hook of these folders, in their order."""
    return tuple(hook for location in locations for hook in _load_location(location))


def load_skill_hooks(skills: Sequence[DiscoveredSkill]) -> tuple[DiscoveredHook, ...]:
    """The hooks that skills bring along: `hooks/HOOK.md`, `hooks/NAME/HOOK.md`."""
    found = []
    for skill in skills:
        base = f"{skill.base_dir}/hooks" if skill.base_dir else ""
        if base and os.path.isdir(base):
            blank = DiscoveredHook(skill.location.scope, skill.location.layer, base, skill.folder, skill=skill)
            found += [_load_hooks(folder, blank) for folder in _list(base)[:MAX_HOOKS]]
    return tuple(found)


def _load_location(location: Location) -> Iterator[DiscoveredHook]:
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
            yield _load_hooks(blank.folder, blank)


def _find(location: Location) -> Iterator[DiscoveredHook]:
    """Find the hooks of a location: single ones, and those of packs."""
    scope, layer = location.scope, location.layer
    for folder in _list(location.path, packs=True):
        if _has(folder, HOOK_FILE):
            yield DiscoveredHook(scope, layer, folder, folder)
            continue
        try:
            members = load_pack(folder)
        except ClawftError as error:
            yield DiscoveredHook(scope, layer, folder, folder, problem=error.diagnostic)
            continue
        for member in members:
            covered = is_within(member, folder) and LEFT_OUT.isdisjoint(member[len(folder) :].split("/"))
            yield DiscoveredHook(scope, layer, member, folder, problem=None if covered else _leaves(member))


def _list(path: str, *, packs: bool = False) -> list[str]:
    """The folder itself and those in it, as far as they hold a hook, or a pack of them."""
    try:
        with os.scandir(path) as entries:  # which knows of most files, without a look at each, that they are no folder
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False) or entry.is_symlink())
    except OSError:
        return []
    inside = [f"{path}/{name}" for name in names if not name.startswith(".") and name not in LEFT_OUT]
    return [folder for folder in (path, *inside) if _has(folder, HOOK_FILE) or (packs and _has(folder, "package.json"))]


def _has(folder: str, name: str) -> bool:
    return os.path.lexists(f"{folder}/{name}")


def _load_hooks(folder: str, blank: DiscoveredHook) -> DiscoveredHook:
    """The hook of a folder. All of it are plain files: only those are covered by a digest."""
    found = DiscoveredHook(blank.scope, blank.layer, folder, blank.root, skill=blank.skill)
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
    return DiscoveredHook(found.scope, found.layer, folder, root, hook, handler, skill=found.skill, content=content)


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


def _broken(found: DiscoveredHook, problem: Diagnostic) -> DiscoveredHook:
    return DiscoveredHook(found.scope, found.layer, found.folder, found.root, problem=problem, skill=found.skill)


def _leaves(path: str) -> Diagnostic:
    hint = "Put a copy of it into the folder itself"
    return Diagnostic("link-leaves-root", "error", "It lies outside, or a link leads there", path, 0, hint)
