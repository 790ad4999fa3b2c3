"""The MCP servers that plugins of other clients bring: `mcp.json` of Agent Plugins, `.mcp.json` of Claude Code.

A server that is not as it should be is left out and told of; the others stay.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic
from clawft.format.plugin import ServerSpec
from clawft.format.schema import check_arguments

__all__ = [
    "AGENT_PLUGINS",
    "OWN_VARIABLES",
    "VARIABLE",
    "ask_permissions",
    "find_host",
    "find_variables",
    "parse_agent_servers",
    "parse_claude_servers",
    "read_json",
]

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
    """What some JSON says. Raises: ClawftError."""
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
    given = raw.get("mcpServers")
    if set(raw) != {"$schema", "mcpServers"} or not isinstance(given, dict):
        raise ClawftError("plugin-servers", "It has to hold '$schema' and 'mcpServers' and nothing else", path=file)
    return _take_all(given, file, _find_agent_problem)


def parse_claude_servers(given: Any, file: str, read: Callable[[str], bytes | None]) -> Servers:
    """The servers that Claude Code's manifest names: in it, in files, or in the usual one if it says nothing."""
    servers: dict[str, ServerSpec] = {}
    said: list[Diagnostic] = []
    folder = file.rpartition("/.claude-plugin/")[0]
    for one in given if isinstance(given, list) else [given]:
        place, told = file, said
        if isinstance(one, str) or one is None:
            path = ".mcp.json" if one is None else one.removeprefix("./")
            place = f"{folder}/{path}"
            try:
                one, problem = _load_named(path, place, read, optional=one is None)
            except ClawftError as error:
                one, problem = {}, str(error)
            if problem:
                told.append(Diagnostic("plugin-servers", "warning", f"{problem}; its servers are left out", place))
        if not isinstance(one, dict):
            message = "'mcpServers' is neither a path nor a mapping and is not used"
            said.append(Diagnostic("plugin-servers", "warning", message, place))
            continue
        taken, complaints = _take_all(one, place, _find_claude_problem)
        said += complaints
        servers |= {each.name: each for each in taken}
    return tuple(servers.values()), said


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
        return {name: one for name, one in inner.items() if name != "$schema"}, ""
    return {}, "It names no servers"


def ask_permissions(servers: Iterable[ServerSpec]) -> Permissions:
    """What servers need. A program was not written to be confined, so that it asks for all of the network."""
    network: list[str] = []
    names: list[str] = []
    shell = False
    for one in servers:
        shell = shell or bool(one.command)
        network.append("*" if one.command else find_host(one))
        names += find_variables(one)
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


def _take_all(given: Mapping[str, Any], file: str, find_problem: Callable[[Any], str]) -> Servers:
    taken: list[ServerSpec] = []
    said: list[Diagnostic] = []
    for name, one in given.items():
        shown = ascii(name[:64])[1:-1]
        if len(taken) == MAX_SERVERS:
            message = f"There are more than {MAX_SERVERS} servers; the rest is left out"
            said.append(Diagnostic("plugin-servers", "warning", message, file))
            break
        problem = find_problem(one)
        if problem:
            said.append(Diagnostic("plugin-servers", "warning", f"The server '{shown}' is left out: {problem}", file))
            continue
        literal = find_problem is _find_agent_problem
        wanted = {key: value for key, value in one.items() if key in _FIELDS}
        taken.append(msgspec.convert({"name": name, "literal": literal, **wanted}, ServerSpec))
        unused = sorted(key for key in one if key not in _FIELDS and key != "type")
        if unused:
            message = f"{', '.join(map(repr, unused[:10]))} of the server '{shown}' is not used"
            said.append(Diagnostic("plugin-servers", "note", message, file))
    return tuple(taken), said


_FIELDS = frozenset(ServerSpec.__struct_fields__) - {"name", "literal"}


def _find_agent_problem(server: Any) -> str:
    """Why a server of an `mcp.json` cannot be used: each kind is closed."""
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
    """Why a server of Claude Code's cannot be used. What else it says is left out, and told."""
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
    """What it wants to be filled in that nothing here could."""
    asked = [name for name in VARIABLE.findall(str(server)) if name.startswith("user_config.")]
    return f"it needs {ascii(asked[0])[1:-1]}, and 'userConfig' is not used here" if asked else ""
