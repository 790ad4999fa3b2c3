"""Parse plugins of other clients, Agent Plugins and Claude Code's, with their MCP servers."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clawft.contracts import Capability, Permissions
from clawft.errors import ClawftError, Diagnostic
from clawft.skills.parse.plugin import Dialect, PluginManifest, ServerSpec
from clawft.skills.parse.schema import check_arguments

AGENT_PLUGINS = "https://agent-plugins.org/schemas/1.0.0/"
MAX_SERVERS = 32
VARIABLE = re.compile(r"\$\{([^}]{0,200})\}")
# Which the host fills in; all others are of the user's environment, and have to be granted.
OWN_VARIABLES = frozenset({"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR"})
_RESERVED = ("PLUGIN_ROOT", "PLUGIN_DATA")
_TEXT = {"type": "string", "maxLength": 4000}
_TEXTS = {"type": "object", "maxProperties": 64, "additionalProperties": _TEXT}
_STDIO = {
    "type": "object",
    "required": ["command"],
    "properties": {
        "type": {"const": "stdio"},
        "command": {"type": "string", "minLength": 1, "maxLength": 1000},
        "args": {"type": "array", "maxItems": 200, "items": _TEXT},
        "env": _TEXTS,
        "cwd": {"type": "string", "minLength": 1, "maxLength": 1000},
    },
    "additionalProperties": False,
}
_HTTP = {
    "type": "object",
    "required": ["url"],
    "properties": {
        "type": {"enum": ["streamable-http", "http"]},
        "url": {"type": "string", "minLength": 1, "maxLength": 2000},
        "headers": _TEXTS,
    },
    "additionalProperties": False,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

Servers = tuple[tuple[ServerSpec, ...], list[Diagnostic]]


def read_json(data: bytes, file: str, code: str) -> Any:
    """Parse JSON. Raises: ClawftError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClawftError(code, f"It is no JSON: {error}", path=file) from error


def parse_agent_servers(data: bytes, file: str) -> Servers:
    """The servers of an `mcp.json` of Agent Plugins. Raises: ClawftError where none of it can be used."""
    raw = read_json(data, file, "plugin-servers")
    if not isinstance(raw, dict) or raw.get("$schema") != f"{AGENT_PLUGINS}mcp.schema.json":
        hint = f'"$schema" is "{AGENT_PLUGINS}mcp.schema.json"'
        raise ClawftError("plugin-servers", "It is not of Agent Plugins 1.0", path=file, hint=hint)
    servers = raw.get("mcpServers")
    if set(raw) != {"$schema", "mcpServers"} or not isinstance(servers, dict):
        raise ClawftError("plugin-servers", "It has to hold '$schema' and 'mcpServers' and nothing else", path=file)
    return _take_all(servers, file, _find_agent_problem)


def parse_claude_servers(declared: Any, file: str, read: Callable[[str], bytes | None]) -> Servers:
    """The servers that Claude Code's manifest names: in it, in files, or in the usual one if it says nothing."""
    servers: dict[str, ServerSpec] = {}
    diagnostics: list[Diagnostic] = []
    folder = file.rpartition("/.claude-plugin/")[0]
    for source in declared if isinstance(declared, list) else [declared]:
        place, load_diagnostics = file, diagnostics
        if isinstance(source, str) or source is None:
            path = ".mcp.json" if source is None else source.removeprefix("./")
            place = f"{folder}/{path}"
            try:
                source, problem = _load_named(path, place, read, optional=source is None)
            except ClawftError as error:
                source, problem = {}, str(error)
            if problem:
                load_diagnostics.append(
                    Diagnostic("plugin-servers", "warning", f"{problem}; its servers are left out", place)
                )
        if not isinstance(source, dict):
            message = "'mcpServers' is neither a path nor a mapping and is not used"
            diagnostics.append(Diagnostic("plugin-servers", "warning", message, place))
            continue
        taken, complaints = _take_all(source, place, _find_claude_problem)
        diagnostics += complaints
        servers |= {each.name: each for each in taken}
    return tuple(servers.values()), diagnostics


def _load_named(path: str, place: str, read: Callable[[str], bytes | None], *, optional: bool) -> tuple[Any, str]:
    """The servers of a file, and what is wrong with it. Raises: ClawftError."""
    if path.endswith((".mcpb", ".dxt")) or "://" in path:
        return {}, "Bundles of servers are not used here"
    data = read(path)
    if data is None:
        return {}, "" if optional else "There is no such file"
    raw = read_json(data, place, "plugin-servers")
    inner = raw.get("mcpServers", raw) if isinstance(raw, dict) else raw  # some leave the outer key out
    if isinstance(inner, dict):
        return {name: server for name, server in inner.items() if name != "$schema"}, ""
    return {}, "It names no servers"


def ask_permissions(servers: Iterable[ServerSpec]) -> Permissions:
    """Return the permissions that servers need. A server program was not written to be confined, so it asks for all of
    the network."""
    network: list[str] = []
    names: list[str] = []
    shell = False
    for server in servers:
        shell = shell or bool(server.command)
        network.append("*" if server.command else find_host(server))
        names += find_variables(server)
    return Permissions((), tuple(dict.fromkeys(filter(None, network))), tuple(dict.fromkeys(names)), shell)


def find_variables(server: ServerSpec) -> Iterator[str]:
    """The variables of the user's environment that a server of Claude Code's is written with."""
    if server.literal:
        return
    for text in (server.command, *server.args, *server.env.values(), server.cwd, server.url, *server.headers.values()):
        for inner in VARIABLE.findall(text):
            name = inner.partition(":-")[0]
            if name not in OWN_VARIABLES and _NAME.fullmatch(name):
                yield name


def find_host(server: ServerSpec) -> str:
    """The host of an address, by the defaults of its variables; `*` where only a variable tells it."""
    url = server.url
    if not server.literal:
        url = VARIABLE.sub(lambda match: match[1].partition(":-")[2] or match[0], url)
    host = _find_host(url)
    return host if host and "$" not in host else "*"


def _find_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if host and port not in (None, 80, 443) else host


def _take_all(candidates: Mapping[str, Any], file: str, find_problem: Callable[[Any], str]) -> Servers:
    taken: list[ServerSpec] = []
    diagnostics: list[Diagnostic] = []
    for name, server in candidates.items():
        shown = ascii(name[:64])[1:-1]
        if len(taken) == MAX_SERVERS:
            message = f"There are more than {MAX_SERVERS} servers; the rest is left out"
            diagnostics.append(Diagnostic("plugin-servers", "warning", message, file))
            break
        problem = find_problem(server)
        if problem:
            diagnostics.append(
                Diagnostic("plugin-servers", "warning", f"The server '{shown}' is left out: {problem}", file)
            )
            continue
        literal = find_problem is _find_agent_problem
        wanted = {key: value for key, value in server.items() if key in _FIELDS}
        taken.append(msgspec.convert({"name": name, "literal": literal, **wanted}, ServerSpec))
        unused = sorted(key for key in server if key not in _FIELDS and key != "type")
        if unused:
            message = f"{', '.join(map(repr, unused[:10]))} of the server '{shown}' is not used"
            diagnostics.append(Diagnostic("plugin-servers", "note", message, file))
    return tuple(taken), diagnostics


_FIELDS = frozenset(ServerSpec.__struct_fields__) - {"name", "literal"}


def _find_agent_problem(server: Any) -> str:
    """Return why a server of an `mcp.json` cannot be used; '' if it can. No unknown fields are accepted."""
    kind = server.get("type") if isinstance(server, dict) else None
    if kind == "stdio":
        return check_arguments(server, _STDIO) or _find_stdio_problem(server)
    if kind == "streamable-http":
        return check_arguments(server, _HTTP) or _find_url_problem(server)
    return "the old transport 'sse' is not spoken here" if kind == "sse" else "its type is not known"


def _find_stdio_problem(server: Mapping[str, Any]) -> str:
    command, cwd = server["command"], server.get("cwd", "./")
    if "/" in command and (not command.startswith("./") or ".." in command.split("/")):
        return "its command is neither a name nor a path that begins with './'"
    rest = cwd.removeprefix("./") if cwd.startswith("./") else None
    for name in _RESERVED:
        if cwd == f"${{{name}}}" or cwd.startswith(f"${{{name}}}/"):
            rest = cwd[len(name) + 3 :]
    if rest is None or ".." in rest.split("/"):
        return "its cwd does not lie in the plugin's folder, or its data folder"
    reserved = next((name for name in server.get("env", {}) if name.upper() in _RESERVED), "")
    return f"its env sets {reserved}, which the host does" if reserved else ""


def _find_url_problem(server: Mapping[str, Any]) -> str:
    headers = server.get("headers", {})
    if len({name.lower() for name in headers}) < len(headers):
        return "it has a header twice"
    return "its url is not of the web" if not _find_host(server["url"]) else ""


def _find_claude_problem(server: Any) -> str:
    """Return why a server of a Claude Code plugin cannot be used; '' if it can. Its unknown fields are dropped and
    reported."""
    if not isinstance(server, dict):
        return "it is no mapping"
    kind = server.get("type", "http" if "url" in server else "stdio")
    if kind not in ("stdio", "http", "streamable-http"):
        return f"the transport {str(kind)[:20]!a} is not spoken here"
    schema = _STDIO if kind == "stdio" else _HTTP
    known = {key: value for key, value in server.items() if key in schema["properties"]}  # type: ignore[operator]
    problem = check_arguments(known, schema)
    if problem or kind != "stdio":
        return problem or _find_filled(server)
    return _find_filled(server)


def _find_filled(server: Mapping[str, Any]) -> str:
    """Return why a server needs a value that weft does not fill in; '' if it needs none."""
    asked = [name for name in VARIABLE.findall(str(server)) if name.startswith("user_config.")]
    return f"it needs {ascii(asked[0])[1:-1]}, and 'userConfig' is not used here" if asked else ""


Read = Callable[[str], bytes | None]  # a file below the plugin's folder; None where there is none. Raises: ClawftError
MARKETPLACE = ".claude-plugin/marketplace.json"
MAX_PATHS = 200
_OTHER_PLUGINS_TEXT = {"type": "string", "maxLength": 2000}
_AGENT_SCHEMA = {
    "type": "object",
    "required": ["$schema", "name"],
    "properties": {
        "$schema": {"const": f"{AGENT_PLUGINS}plugin.schema.json"},
        "name": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"},
        "version": _OTHER_PLUGINS_TEXT,
        "description": _OTHER_PLUGINS_TEXT,
        "author": {
            "type": "object",
            "properties": {"name": _OTHER_PLUGINS_TEXT, "email": _OTHER_PLUGINS_TEXT, "url": _OTHER_PLUGINS_TEXT},
            "additionalProperties": False,
        },
        "homepage": _OTHER_PLUGINS_TEXT,
        "repository": _OTHER_PLUGINS_TEXT,
        "license": _OTHER_PLUGINS_TEXT,
        "keywords": {"type": "array", "maxItems": 1000, "items": _OTHER_PLUGINS_TEXT},
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
    """Return whether a `plugin.json` means to be of Agent Plugins: other programs have files of that name, too."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(raw, dict) and "agent-plugins.org" in str(raw.get("$schema", ""))[:200]


def parse_agent_plugin(data: bytes, file: str, read: Read) -> PluginManifest:
    """A `plugin.json` of Agent Plugins 1.0, with its `mcp.json`. Raises: ClawftError."""
    raw = _decode(data, file)
    diagnostics = list(_tell_unknown(raw, _AGENT_FIELDS, file))
    extensions = raw.get("extensions", {})
    if not isinstance(extensions, dict):
        diagnostics.append(Diagnostic("plugin-unused", "warning", "'extensions' is no mapping and is not used", file))
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
        server_file = read("mcp.json")
        if server_file is not None:
            servers, complaints = parse_agent_servers(server_file, f"{folder}/mcp.json")
            diagnostics += complaints
    except ClawftError as error:
        diagnostics.append(_lose(error, "its servers are left out"))
    return _make(raw, "agent-plugins", servers, diagnostics)


def parse_claude_plugin(data: bytes, file: str, read: Read) -> PluginManifest:
    """Claude Code's `.claude-plugin/plugin.json`, with the files of servers that it names. Raises: ClawftError."""
    raw = _decode(data, file)
    name = raw.get("name")
    if not isinstance(name, str) or not _CLAUDE_NAME.fullmatch(name) or ".." in name:
        shown = f"'{ascii(name[:64])[1:-1]}' cannot be its name" if isinstance(name, str) else "It has no name"
        hint = "Use lowercase letters, digits and '-'"
        raise ClawftError("plugin-manifest", f"The manifest is not as it should be: {shown}", path=file, hint=hint)
    diagnostics = list(_tell_unknown(raw, _CLAUDE_ABOUT | _CLAUDE_USED | _CLAUDE_UNUSED, file))
    for key in sorted(_CLAUDE_UNUSED & set(raw)):
        diagnostics.append(Diagnostic("plugin-unused", "note", f"'{key}' is of Claude Code and is not used here", file))
    paths = _Paths(file, diagnostics)
    hooks = raw.get("hooks", "./hooks/hooks.json")
    servers, complaints = parse_claude_servers(raw.get("mcpServers"), file, read)
    diagnostics += complaints
    manifest = _make(raw, "claude", servers, diagnostics)
    return msgspec.structs.replace(
        manifest,
        # Its own folders are looked through beside the usual one of skills, and in place of the others.
        skill_dirs=tuple(dict.fromkeys(("skills", *paths.take("skills", raw.get("skills", []))))),
        command_dirs=tuple(paths.take("commands", raw.get("commands", "./commands"))),
        agent_dirs=tuple(paths.take("agents", raw.get("agents", "./agents"))),
        # Written into the manifest they stand there as in a file of their own.
        hook_files=(".claude-plugin/plugin.json",) if isinstance(hooks, dict) else tuple(paths.take("hooks", hooks)),
        diagnostics=tuple(diagnostics),
    )


def parse_marketplace(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parse the places of a marketplace's plugins below its folder, and the skills of those that have no folder."""
    try:
        listed = msgspec.json.decode(data)["plugins"]
        plugins = [entry for entry in listed if isinstance(entry.get("source"), str)]
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError):
        return (), ()
    skills = [plugin.get("skills") for plugin in plugins]
    return _keep_inside(plugin["source"] for plugin in plugins), _keep_inside(
        path for paths in skills if isinstance(paths, list) for path in paths if isinstance(path, str)
    )


def _keep_inside(paths: Iterable[str]) -> tuple[str, ...]:
    inside = (path.removeprefix("./").rstrip("/") for path in paths)
    return tuple(dict.fromkeys(inner_path for inner_path in inside if inner_path and not _find_escape(inner_path)))


def _make(
    raw: Mapping[str, Any], dialect: Dialect, servers: tuple[ServerSpec, ...], diagnostics: list[Diagnostic]
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
        diagnostics=tuple(diagnostics),
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

    def __init__(self, file: str, diagnostics: list[Diagnostic]) -> None:
        self._file = file
        self._diagnostics = diagnostics

    def take(self, key: str, value: Any) -> list[str]:
        """The paths of one key, below the plugin's folder."""
        values = self._list(key, value)
        if len(values) > MAX_PATHS:
            self._tell(f"'{key}' names more than {MAX_PATHS} paths; the rest is left out")
        taken = [self._clean(key, entry) for entry in values[:MAX_PATHS]]
        return list(dict.fromkeys(path for path in taken if path))

    def _list(self, key: str, value: Any) -> list[Any]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return value
        if key == "commands" and isinstance(value, dict):  # by name, each with its file or with its text
            files = [entry["source"] for entry in value.values() if isinstance(entry, dict) and "source" in entry]
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
        parts = [part for part in path.split("/") if part not in ("", ".")]
        return "/".join(parts) or "."

    def _tell(self, message: str) -> None:
        self._diagnostics.append(Diagnostic("plugin-path", "warning", message, self._file))
