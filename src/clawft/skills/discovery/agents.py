"""Agents on disk and built in: `<name>.yaml|yml|md`, `<name>/AGENT.md`, `<name>/agent.yaml`."""

import os
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, read_regular, real_path
from clawft.skills.discovery.folder_cache import DOCUMENTS
from clawft.skills.discovery.locations import Location
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.skills.parse.model import Agent, is_safe_folder

_SUFFIXES = (".yaml", ".yml", ".md")
_IN_FOLDER = ("AGENT.md", "agent.yaml", "agent.yml")

BUILTIN_AGENTS = (
    Agent(name="default", description="General-purpose agent"),
    Agent(
        name="explore",
        description="Read-only exploration",
        system_prompt="Explore and explain. Read widely, cite path and line, and change nothing.",
        tools=("read_file", "list_directory", "web_search"),
    ),
    Agent(
        name="coder",
        description="Code-focused agent",
        system_prompt="Write clean, tested code. Read before you edit, make small changes, and run what you change.",
        tools=("read_file", "write_file", "edit_file", "list_directory", "glob", "grep", "exec_shell"),
    ),
    Agent(
        name="planner",
        description="Plans, and executes nothing",
        system_prompt="Plan before anything is done: goal, steps, risks, and how each step will be checked.",
        tools=(),
        temperature=0.9,
    ),
)


class DiscoveredAgent(Struct, frozen=True):
    """One agent file, or a built-in; the agent in it, or the problem with it; the digest of the bytes it is from."""

    scope: str
    file: str = ""
    agent: Agent | None = None
    problem: Diagnostic | None = None
    digest: str = ""
    plugin: str = ""  # the id of the one that brought it

    @property
    def kind(self) -> Literal["agent"]:
        return "agent"

    @property
    def name(self) -> str:
        if self.agent:
            return self.agent.name
        folder, _, file = self.file.rpartition("/")
        return os.path.basename(folder) if file in _IN_FOLDER else file.rpartition(".")[0]

    def matches_reference(self, reference: str) -> bool:
        """Return whether a name, or `plugin:name`, means this one."""
        origin, colon, name = reference.rpartition(":")
        if self.name == reference or not colon:
            return self.name == reference
        return self.name == name and bool(self.plugin) and origin in (self.plugin, self.plugin.rpartition(".")[2])


def load_agents(locations: Sequence[Location]) -> tuple[DiscoveredAgent, ...]:
    """Every agent, highest precedence first: the built-in ones last but for what plugins bring."""
    found = [agent for location in locations for agent in _load_location(location)]
    ours = [found_agent for found_agent in found if found_agent.scope != "plugin"]
    brought = [found_agent for found_agent in found if found_agent.scope == "plugin"]
    return (*ours, *(DiscoveredAgent("built-in", agent=agent) for agent in BUILTIN_AGENTS), *brought)


def _load_location(location: Location) -> list[DiscoveredAgent]:
    if location.scope == "plugin":
        return [structs.replace(agent, plugin=location.layer) for agent in _load_plugin(location)]
    return _load_folder(location)


def _load_plugin(location: Location) -> list[DiscoveredAgent]:
    """Those of a plugin, which may name a single file."""
    if os.path.isdir(location.path):
        return _load_folder(location)
    folder, _, name = location.path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    at = structs.replace(location, path=folder)
    return [_load(location.path, stem, at)] if stem and dot + suffix in _SUFFIXES else []


def _load_folder(location: Location) -> list[DiscoveredAgent]:
    try:
        names = sorted(os.listdir(location.path))
    except OSError:
        return []
    found = []
    for name in names:
        path = f"{location.path}/{name}"
        stem, dot, suffix = name.rpartition(".")
        if name.startswith(".") or stem.upper() in DOCUMENTS:
            continue
        if dot + suffix in _SUFFIXES and stem:
            found.append(_load(path, stem, location))
        elif os.path.isdir(path):
            file = next((file for file in _IN_FOLDER if os.path.lexists(f"{path}/{file}")), None)
            if file:
                found.append(_load(f"{path}/{file}", name, location))
    return found


def _load(path: str, name: str, location: Location) -> DiscoveredAgent:
    # Where there is an agent file to parse.
    from clawft.skills.discovery.digest import hash_content
    from clawft.skills.parse.agent import parse_agent
    from clawft.skills.parse.text import decode_text

    try:
        if not is_safe_folder(name):
            raise Unreadable("folder-name", f"The name '{name}' may hold letters, digits, '_' and '-' only", path=path)
        if not is_within(real_path(path), real_path(location.path)):
            raise Unreadable("link-leaves-root", "The link leads out of the searched folder", path=path)
        data, _ = read_regular(path, MAX_FILE_BYTES, follow=True)
        decoded = decode_text(data, path)
        agent = parse_agent(decoded.text, os.path.basename(path), name, path=path)
    except (FileNotFoundError, NotADirectoryError):
        return DiscoveredAgent(
            location.scope, path, problem=Diagnostic("unreadable", "error", "The link leads to nothing", path)
        )
    except ClawftError as error:
        return DiscoveredAgent(location.scope, path, problem=error.diagnostic)
    decoded_agent = structs.replace(agent, diagnostics=decoded.diagnostics + agent.diagnostics)
    return DiscoveredAgent(location.scope, path, decoded_agent, digest="sha256:" + hash_content(data)[0].decode())
