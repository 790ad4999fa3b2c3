"""Plugins of other clients as ours: Agent Plugins 1.0 (`plugin.json`) and Claude Code's (INTEROP 3.10).

Both say less than our own manifest: what they ask for is told from the servers that they bring.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clawft.contracts import Capability
from clawft.errors import ClawftError, Diagnostic
from clawft.format.plugin import Dialect, PluginManifest, ServerSpec
from clawft.format.plugin_servers import (
    AGENT_PLUGINS,
    ask_permissions,
    parse_agent_servers,
    parse_claude_servers,
    read_json,
)
from clawft.format.schema import check_arguments

__all__ = ["MARKETPLACE", "Read", "is_agent_plugin", "parse_agent_plugin", "parse_claude_plugin", "parse_marketplace"]

Read = Callable[[str], bytes | None]  # a file below the plugin's folder; None where there is none. Raises: ClawftError
MARKETPLACE = ".claude-plugin/marketplace.json"
MAX_PATHS = 200
_TEXT = {"type": "string", "maxLength": 2000}
_AGENT_SCHEMA = {
    "type": "object",
    "required": ["$schema", "name"],
    "properties": {
        "$schema": {"const": f"{AGENT_PLUGINS}plugin.schema.json"},
        "name": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"},
        "version": _TEXT,
        "description": _TEXT,
        "author": {
            "type": "object",
            "properties": {"name": _TEXT, "email": _TEXT, "url": _TEXT},
            "additionalProperties": False,
        },
        "homepage": _TEXT,
        "repository": _TEXT,
        "license": _TEXT,
        "keywords": {"type": "array", "maxItems": 1000, "items": _TEXT},
    },
}
_AGENT_FIELDS = frozenset({*_AGENT_SCHEMA["properties"], "extensions"})
_CLAUDE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_CLAUDE_ABOUT = frozenset(
    {"$schema", "name", "displayName", "version", "description", "author", "homepage", "repository", "license"}
    | {"keywords", "category", "tags"}
)
_CLAUDE_USED = frozenset({"skills", "commands", "agents", "hooks", "mcpServers"})
# What this client has no use for. To know them is to say so once, and not to take them for a misspelling.
_CLAUDE_UNUSED = frozenset(
    {"lspServers", "outputStyles", "dependencies", "userConfig", "channels", "monitors", "themes", "experimental"}
    | {"settings", "workflows", "bin", "strict", "defaultEnabled"}
)


def is_agent_plugin(data: bytes) -> bool:
    """Whether a `plugin.json` means to be of Agent Plugins: other programs have files of that name, too."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(raw, dict) and "agent-plugins.org" in str(raw.get("$schema", ""))[:200]


def parse_agent_plugin(data: bytes, file: str, read: Read) -> PluginManifest:
    """A `plugin.json` of Agent Plugins 1.0, with its `mcp.json`. Raises: ClawftError."""
    raw = _decode(data, file)
    said = list(_tell_unknown(raw, _AGENT_FIELDS, file))
    extensions = raw.get("extensions", {})
    if not isinstance(extensions, dict):
        said.append(Diagnostic("plugin-unused", "warning", "'extensions' is no mapping and is not used", file))
    known = {name: value for name, value in raw.items() if name in _AGENT_FIELDS and name != "extensions"}
    name, problem = raw.get("name"), check_arguments(known, _AGENT_SCHEMA)
    if not problem and isinstance(name, str) and ("--" in name or ".." in name):
        problem = "name: it has '--' or '..'"
    if problem:
        hint = f'"$schema" is "{AGENT_PLUGINS}plugin.schema.json"' if "$schema" in problem else ""
        raise ClawftError("plugin-manifest", f"The manifest is not as it should be: {problem}", path=file, hint=hint)
    folder = file.rpartition("/")[0]
    servers: tuple[ServerSpec, ...] = ()
    try:
        given = read("mcp.json")
        if given is not None:
            servers, complaints = parse_agent_servers(given, f"{folder}/mcp.json")
            said += complaints
    except ClawftError as error:
        said.append(_lose(error, "its servers are left out"))
    return _make(raw, "agent-plugins", servers, said)


def parse_claude_plugin(data: bytes, file: str, read: Read) -> PluginManifest:
    """Claude Code's `.claude-plugin/plugin.json`, with the files of servers that it names. Raises: ClawftError."""
    raw = _decode(data, file)
    name = raw.get("name")
    if not isinstance(name, str) or not _CLAUDE_NAME.fullmatch(name) or ".." in name:
        shown = f"'{ascii(name[:64])[1:-1]}' cannot be its name" if isinstance(name, str) else "It has no name"
        hint = "Use lowercase letters, digits and '-'"
        raise ClawftError("plugin-manifest", f"The manifest is not as it should be: {shown}", path=file, hint=hint)
    said = list(_tell_unknown(raw, _CLAUDE_ABOUT | _CLAUDE_USED | _CLAUDE_UNUSED, file))
    for key in sorted(_CLAUDE_UNUSED & set(raw)):
        said.append(Diagnostic("plugin-unused", "note", f"'{key}' is of Claude Code and is not used here", file))
    paths = _Paths(file, said)
    hooks = raw.get("hooks", "./hooks/hooks.json")
    servers, complaints = parse_claude_servers(raw.get("mcpServers"), file, read)
    said += complaints
    manifest = _make(raw, "claude", servers, said)
    return msgspec.structs.replace(
        manifest,
        # Its own folders are looked through beside the usual one of skills, and in place of the others.
        skill_dirs=tuple(dict.fromkeys(("skills", *paths.take("skills", raw.get("skills", []))))),
        command_dirs=tuple(paths.take("commands", raw.get("commands", "./commands"))),
        agent_dirs=tuple(paths.take("agents", raw.get("agents", "./agents"))),
        # Written into the manifest they stand there as in a file of their own.
        hook_files=(".claude-plugin/plugin.json",) if isinstance(hooks, dict) else tuple(paths.take("hooks", hooks)),
        diagnostics=tuple(said),
    )


def parse_marketplace(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where the plugins of a marketplace lie below its folder, and the skills of those that have no folder."""
    try:
        listed = msgspec.json.decode(data)["plugins"]
        plugins = [one for one in listed if isinstance(one.get("source"), str)]
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError):
        return (), ()
    skills = [one.get("skills") for one in plugins]
    return _keep_inside(one["source"] for one in plugins), _keep_inside(
        path for paths in skills if isinstance(paths, list) for path in paths if isinstance(path, str)
    )


def _keep_inside(paths: Iterable[str]) -> tuple[str, ...]:
    inside = (path.removeprefix("./").rstrip("/") for path in paths)
    return tuple(dict.fromkeys(one for one in inside if one and not _find_escape(one)))


def _make(
    raw: Mapping[str, Any], dialect: Dialect, servers: tuple[ServerSpec, ...], said: list[Diagnostic]
) -> PluginManifest:
    shown = raw.get("displayName")
    author = raw.get("author")
    author = author.get("name") if isinstance(author, dict) else author
    return PluginManifest(
        id=raw["name"],
        name=shown[:100] if isinstance(shown, str) and shown.strip() else raw["name"],
        version=_as_text(raw.get("version"), 64) or "0.0.0",
        author=_as_text(author, 200) or None,
        description=_as_text(raw.get("description"), 1000) or None,
        capabilities=(Capability.SKILL,),
        skill_dirs=("skills",),
        permissions=ask_permissions(servers),
        dialect=dialect,
        servers=servers,
        diagnostics=tuple(said),
    )


def _as_text(value: Any, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""


def _decode(data: bytes, file: str) -> dict[str, Any]:
    raw = read_json(data, file, "plugin-manifest")
    if not isinstance(raw, dict):
        raise ClawftError("plugin-manifest", "The manifest is not a mapping", path=file)
    return raw


def _tell_unknown(raw: Mapping[str, Any], known: frozenset[str], file: str) -> Iterator[Diagnostic]:
    unknown = [name for name in raw if name not in known]
    for name in unknown[:20]:
        message = f"'{ascii(name[:60])[1:-1]}' is not known and is not used"
        yield Diagnostic("plugin-unknown-key", "warning", message, file)
    if len(unknown) > 20:
        yield Diagnostic("plugin-unknown-key", "warning", f"{len(unknown) - 20} more keys are not known", file)


def _lose(error: ClawftError, what: str) -> Diagnostic:
    return Diagnostic("plugin-servers", "warning", f"{error}; {what}", error.diagnostic.path, 0, error.hint)


def _find_escape(path: str) -> bool:
    return path.startswith(("/", "~")) or ".." in path.split("/") or "\\" in path or "\0" in path


class _Paths:
    """Takes the paths that a manifest names, and tells of those that cannot be used."""

    def __init__(self, file: str, said: list[Diagnostic]) -> None:
        self._file = file
        self._said = said

    def take(self, key: str, value: Any) -> list[str]:
        """The paths of one key, below the plugin's folder."""
        given = self._list(key, value)
        if len(given) > MAX_PATHS:
            self._tell(f"'{key}' names more than {MAX_PATHS} paths; the rest is left out")
        taken = [self._clean(key, one) for one in given[:MAX_PATHS]]
        return list(dict.fromkeys(one for one in taken if one))

    def _list(self, key: str, value: Any) -> list[Any]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return value
        if key == "commands" and isinstance(value, dict):  # by name, each with its file or with its text
            files = [one["source"] for one in value.values() if isinstance(one, dict) and "source" in one]
            if len(files) < len(value):
                self._tell("A command that is written into the manifest is not used; give it a file")
            return files
        if value is not None:
            self._tell(f"'{key}' is no path and is not used")
        return []

    def _clean(self, key: str, path: Any) -> str:
        if not isinstance(path, str):
            self._tell(f"A part of '{key}' is no path and is not used")
            return ""
        shown = ascii(path[:80])[1:-1]
        if not path.strip() or len(path) > 400 or _find_escape(path):
            self._tell(f"'{shown}' of '{key}' does not lie in the plugin's folder and is not used")
            return ""
        parts = [one for one in path.split("/") if one not in ("", ".")]
        return "/".join(parts) or "."

    def _tell(self, message: str) -> None:
        self._said.append(Diagnostic("plugin-path", "warning", message, self._file))
