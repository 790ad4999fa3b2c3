"""MCP servers from the configs of other clients, as weft settings. Secrets in their files are never copied.

`${NAME}` is written in place of a secret, and the user sees which variables to set.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from clawft.agent.mcp.launch import resolve_launch
from clawft.config.loader import decode_json
from clawft.config.redaction import looks_secret
from clawft.config.secret import find_names, names_secret
from clawft.config.tools import ServerSettings
from clawft.errors import ClawftError
from clawft.files import read_regular
from clawft.trust.programs import HostPrograms
from clawft.workspace import Workspace

MAX_BYTES = 16 << 20  # Claude Code keeps its history in the same file
MAX_SERVERS = 100
_ODD_LENGTH = 20
# File below the home folder -> tables in it that hold servers by name.
_USER_FILES = {
    ".claude.json": (("mcpServers",),),
    ".config/Claude/claude_desktop_config.json": (("mcpServers",),),
    "Library/Application Support/Claude/claude_desktop_config.json": (("mcpServers",),),
    ".cursor/mcp.json": (("mcpServers",),),
    ".gemini/settings.json": (("mcpServers",),),
    ".codeium/windsurf/mcp_config.json": (("mcpServers",),),
    ".codex/config.toml": (("mcp_servers",),),
    ".openclaw/openclaw.json": (("mcp", "servers"), ("mcpServers",)),
}
_PROJECT_FILES = {
    ".mcp.json": (("mcpServers",),),
    ".cursor/mcp.json": (("mcpServers",),),
    ".vscode/mcp.json": (("servers",),),
}
_BAD_NAME = re.compile(r"[^A-Za-z0-9-]+")
_WITH_DEFAULT = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class ImportableServer(Struct, frozen=True):
    """A server that could be imported.

    `missing` names the variables that must be set for it; `problem` says why it cannot be imported. An entry from a
    project's file is untrusted unless the user confirms it.
    """

    name: str
    source: str
    settings: dict[str, Any] = {}
    missing: tuple[str, ...] = ()
    problem: str = ""
    own: bool = True

    @property
    def summary(self) -> str:
        """The command that would be started, or the URL that would be reached."""
        return str(self.settings.get("url") or " ".join((self.settings["command"], *self.settings.get("args", ()))))


def find_importable_servers(workspace: Workspace, environ: Mapping[str, str]) -> list[ImportableServer]:
    """Every server that a file of another client names, the first of each name; a file that makes no sense is one
    offer with a problem."""
    files = [(os.path.join(workspace.home, name), tables, True) for name, tables in _USER_FILES.items()]
    files += [(os.path.join(workspace.project, name), tables, False) for name, tables in _PROJECT_FILES.items()]
    found: dict[str, ImportableServer] = {}
    for path, tables, own in files:
        try:
            document = _load(path)
        except ClawftError as error:
            found.setdefault(path, ImportableServer("", path, problem=str(error), own=own))
            continue
        for name, written in _servers(document, tables, workspace):
            offer = _translate(ImportableServer(_plain_name(name), path, own=own), written, workspace, environ)
            if offer.name and (offer.name not in found or found[offer.name].problem):
                found[offer.name] = offer
    return list(found.values())


def _load(path: str) -> dict[str, Any]:
    """A file of settings; an empty one where there is none. Raises: ClawftError."""
    try:
        text = read_regular(path, MAX_BYTES, follow=True)[0].decode("utf-8-sig")
        value = tomllib.loads(text) if path.endswith(".toml") else decode_json(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, RecursionError):
        raise ClawftError("config-invalid", "The file cannot be parsed", path=path) from None
    return value if isinstance(value, dict) else {}


def _servers(
    document: dict[str, Any], tables: tuple[tuple[str, ...], ...], workspace: Workspace
) -> Iterator[tuple[str, dict[str, Any]]]:
    # Claude Code keeps servers of one project that only this user has under its folder.
    folders = dict.fromkeys((workspace.project, workspace.cwd))
    for path in (*tables, *(("projects", folder, "mcpServers") for folder in folders)):
        table = document
        for key in path:
            table = _table(table.get(key))
        for name, server in list(table.items())[:MAX_SERVERS]:
            if isinstance(server, dict):
                yield name, server


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _plain_name(name: str) -> str:
    """A name that ours can have: tools are called `NAME__tool`."""
    return _BAD_NAME.sub("-", name).strip("-")[:64]


def _translate(
    offer: ImportableServer, written: dict[str, Any], workspace: Workspace, environ: Mapping[str, str]
) -> ImportableServer:
    problem = _find_problem(written)
    if problem:
        return msgspec.structs.replace(offer, problem=problem)
    settings = _take(written, offer.name, environ)
    try:
        parsed = msgspec.convert(settings, ServerSettings)
        texts = (*parsed.env.values(), *parsed.headers.values())
        missing = tuple(dict.fromkeys(name for text in texts for name in find_names(text) if name not in environ))
        resolve_launch(offer.name, parsed, workspace, HostPrograms({**environ, **dict.fromkeys(missing, "")}))
    except msgspec.ValidationError:
        return msgspec.structs.replace(offer, problem="its settings are not of the usual form")
    except ClawftError as error:
        return msgspec.structs.replace(offer, problem=str(error))
    return msgspec.structs.replace(offer, settings=settings, missing=missing)


def _find_problem(written: dict[str, Any]) -> str:
    """Return why a server cannot be imported, or ''; none of its values is shown."""
    if written.get("disabled") is True or written.get("enabled") is False:
        return "it is disabled there"
    if written.get("type") == "sse" or written.get("transport") == "sse":
        return "it speaks the old SSE transport"
    args = written.get("args")
    texts = [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []
    if any("${" in text for text in (*texts, str(written.get("command", "")))):
        return "its command holds variables"
    if _hold_secret(texts):
        return "its arguments hold a secret"
    if _url_holds_secret(_url(written)):
        return "its address holds a secret"
    return ""


def _hold_secret(args: list[str]) -> bool:
    for index, text in enumerate(args):
        option, equals, value = text.partition("=")
        named = option.startswith("-") and names_secret(option.lstrip("-"))
        if looks_secret(text) or _is_odd(value or text) or (named and (equals or index + 1 < len(args))):
            return True
    return False


def _is_odd(text: str, more: str = "") -> bool:
    """Return whether a text may be a key that looks like no other: long, and of letters and digits alone (and of
    `more`)."""
    long = len(text) >= _ODD_LENGTH and all(c.isalnum() or c in f"_{more}" for c in text)
    return long and any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _url(written: dict[str, Any]) -> str:
    found = next((written[key] for key in ("url", "httpUrl", "serverUrl") if written.get(key)), "")
    return found if isinstance(found, str) else ""


def _url_holds_secret(url: str) -> bool:
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return True
    odd = any(_is_odd(part, "=-") for part in (*parts.path.split("/"), *(value for _, value in query)))
    return "${" in url or looks_secret(url) or odd or any(names_secret(name) for name, _ in query)


def _take(written: dict[str, Any], name: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Convert the fields that all clients share to weft's names. Empty fields are left out."""
    url = _url(written)
    if url:
        headers = written.get("headers") or written.get("http_headers")
        references = _table(written.get("env_http_headers"))
        bearer = written.get("bearer_token_env_var")
        taken = {
            **_without_secrets(headers, environ, f"{name.upper().replace('-', '_')}_"),
            **{key: f"${{{value}}}" for key, value in references.items()},
            **({"Authorization": f"Bearer ${{{bearer}}}"} if bearer else {}),
        }
        return {"url": url, **({"headers": taken} if taken else {})}
    env = _without_secrets(written.get("env"), environ)
    passed = written.get("env_vars")
    env |= (
        {variable: f"${{{variable}}}" for variable in passed if isinstance(variable, str)}
        if isinstance(passed, list)
        else {}
    )
    fields = {key: written[key] for key in ("command", "args", "cwd") if written.get(key)}
    return {**fields, **({"env": env} if env else {})}


def _without_secrets(table: Any, environ: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """Variables or headers, each secret replaced by a reference to a variable that has the same name."""
    result: dict[str, Any] = {}
    for key, value in _table(table).items():
        result[key] = value  # values that are no text are reported later
        if isinstance(value, str):
            text = _WITH_DEFAULT.sub(lambda match: _reference(match, environ), value)
            result[key] = _refer(prefix + key, text) if _is_secret(key, text) else text
    return result


def _is_secret(key: str, text: str) -> bool:
    bare, count = _WITH_DEFAULT.subn("", text)
    return looks_secret(bare) or _is_odd(bare, "=-+") or bool(bare and not count and names_secret(key))


def _refer(name: str, text: str) -> str:
    scheme = next((prefix for prefix in ("Bearer ", "Basic ") if text.startswith(prefix)), "")
    variable = re.sub(r"[^A-Za-z0-9]+", "_", name).upper()
    return f"{scheme}${{{variable if variable[:1].isalpha() else f'MCP_{variable}'}}}"


def _reference(match: re.Match[str], environ: Mapping[str, str]) -> str:
    """`${env:NAME}` and `${NAME:-other}` in our spelling; the other is taken where the variable is not set."""
    name, other = match.groups()
    return other if other is not None and name not in environ and not looks_secret(other) else f"${{{name}}}"
