"""Locations of skills and agents: the one precedence table, highest first."""

import os
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from clawft.config import SkillsSettings
from clawft.config.skills import OTHER_CLIENTS
from clawft.files import real_path
from clawft.workspace import MARKER, Workspace, resolve_path

# scope -> folders below its base: the project root, or the home folder
_PROJECT_SKILLS = (".clawft/skills", ".agents/skills", ".claude/skills", "skills", ".skills")
_USER_SKILLS = (
    ".clawft/skills",
    ".clawft/workspace/skills",
    ".agents/skills",
    ".claude/skills",
    ".openclaw/skills",
    ".omniagent/skills",
    ".wundr/skills",
)
_COMMANDS = (".claude/commands",)
_AGENTS = (".clawft/agents", ".claude/agents")
_PROJECT_HOOKS = (".clawft/hooks", "hooks")
_USER_HOOKS = (".clawft/hooks",)
_INSTALLED_HOOKS = (".openclaw/hooks",)  # where another client puts what it installs
SCOPES = ("project", "user", "plugin", "bundled", "extra", "mcp", "dir")


class Location(Struct, frozen=True):
    """A folder to search: whose it is (`scope`), which row of the table (`layer`), where, and what is in it.

    The layer of a plugin's is its id, that of an MCP server's its name. `strict`: what does not conform to Agent Skills
    is no skill there. `claude`: written for Claude Code, which fills `$1` with the first argument.
    """

    scope: str
    layer: str
    path: str
    kind: Literal["skills", "commands"] = "skills"
    strict: bool = False
    claude: bool = False

    @property
    def prefix(self) -> str:
        """The prefix of names from here, to keep them apart from others: the id of a plugin, the name of a server, else
        the scope."""
        return self.layer if self.scope in ("plugin", "mcp") else self.scope

    def matches_reference(self, word: str) -> bool:
        """Return whether a word before a colon means this place: its scope; of a plugin's its id, or the last part of
        it; the name of an MCP server."""
        if self.scope == "mcp":
            return word == self.scope or (word == self.layer and word not in SCOPES)  # `user:x` stays the user's own
        return word == self.scope or (self.scope == "plugin" and word in (self.layer, self.layer.rpartition(".")[2]))


class PluginHooks(Struct, frozen=True):
    """The files in a plugin's folder that may hold command hooks."""

    id: str
    folder: str
    files: tuple[str, ...]


def skill_locations(
    workspace: Workspace, settings: SkillsSettings, plugins: Sequence[Location] = (), served: Sequence[Location] = ()
) -> tuple[Location, ...]:
    """Every folder that is searched for skills, highest precedence first; last what MCP servers served."""
    clients = tuple(f"{client}/skills" for client in settings.load.clients)
    project = _below("project", workspace.project, (*_PROJECT_SKILLS, *clients), workspace)
    user = _below("user", workspace.home, (*_USER_SKILLS, *clients), workspace)
    # A skill wins over a command of its name, but what a person wrote is not hidden by what came with something.
    commands = [
        *_below("project", workspace.project, _COMMANDS, workspace),
        *_below("user", workspace.home, _COMMANDS, workspace),
    ]
    plugin = sorted(plugins, key=lambda one: one.kind == "commands")
    bundled = Location(
        "bundled", "bundled", os.path.join(os.path.dirname(os.path.dirname(__file__)), "bundled", "skills")
    )
    extra = [
        Location("extra", path, resolve_path(path, workspace.project, workspace.home))
        for path in settings.load.extra_dirs
    ]
    return _distinct([*project, *user, *commands, *plugin, bundled, *extra, *served])


def agent_locations(workspace: Workspace, plugins: Sequence[Location] = ()) -> tuple[Location, ...]:
    """Every folder that is searched for agents; the built-in ones come before those of plugins."""
    project = _below("project", workspace.project, _AGENTS, workspace)
    return _distinct([*project, *_below("user", workspace.home, _AGENTS, workspace), *plugins])


def hook_locations(
    workspace: Workspace, extra_dirs: Sequence[str] = (), plugins: Sequence[Location] = ()
) -> tuple[Location, ...]:
    """Every folder that is searched for hooks, highest precedence first. Those of skills come after these."""
    extra = [Location("extra", path, resolve_path(path, workspace.project, workspace.home)) for path in extra_dirs]
    installed = [
        structs.replace(location, scope="installed")
        for location in _below("user", workspace.home, _INSTALLED_HOOKS, workspace)
    ]
    user = _below("user", workspace.home, _USER_HOOKS, workspace)
    project = _below("project", workspace.project, _PROJECT_HOOKS, workspace)
    return _distinct([*user, *extra, *installed, *plugins, *project])


def explicit_locations(folders: Iterable[str], workspace: Workspace) -> tuple[Location, ...]:
    """Just the folders a user named; where one is a project, what clients keep in its hidden folders too."""
    hidden = [
        inner
        for inner in (*_PROJECT_SKILLS, *(f"{other_client}/skills" for other_client in OTHER_CLIENTS))
        if inner[0] == "."
    ]
    found = []
    for folder in folders:
        path = resolve_path(folder, workspace.cwd, workspace.home)
        if os.path.basename(path) == "SKILL.md" and os.path.isfile(path):
            path = os.path.dirname(path)
        inside = [(f"{folder}/{inner}", os.path.join(path, inner)) for inner in (*hidden, *_COMMANDS)]
        found += [_locate("dir", folder, path), *(_locate("dir", *pair) for pair in inside if os.path.isdir(pair[1]))]
    return _distinct(found)


def _below(scope: str, base: str, folders: Sequence[str], workspace: Workspace) -> list[Location]:
    found = []
    for folder in folders:
        path = os.path.join(base, folder)
        if scope == "user" and folder.startswith(MARKER + "/"):
            path = os.path.join(workspace.user_dir, folder[len(MARKER) + 1 :])
        found.append(_locate(scope, folder, path))
    return found


def _locate(scope: str, layer: str, path: str) -> Location:
    is_commands = path.endswith(tuple(f"/{command}" for command in _COMMANDS))
    claude = "/.claude/" in f"{path}/"
    return Location(scope, layer, path, "commands" if is_commands else "skills", claude=claude)


def _distinct(locations: Sequence[Location]) -> tuple[Location, ...]:
    """Each folder once. Where the project is the home folder, what is there is the user's own."""
    rank = {"user": 0, "project": 1}
    best: dict[str, Location] = {}
    known: dict[str, str] = {}
    for location in locations:
        real = _resolve(location.path, known) if os.path.isdir(location.path) else location.path
        other = best.get(real)
        if other is None or rank.get(location.scope, 2) < rank.get(other.scope, 2):
            best[real] = location
    best_ids = set(map(id, best.values()))
    return tuple(location for location in locations if id(location) in best_ids)


def _resolve(path: str, known: dict[str, str]) -> str:
    """Resolve the links of a folder's path; parents that several share are looked at once."""
    if path not in known:
        above, name = os.path.split(path)
        plain = name not in ("", ".", "..") and not os.path.islink(path)
        known[path] = os.path.join(_resolve(above, known), name) if plain and above != path else real_path(path)
    return known[path]
