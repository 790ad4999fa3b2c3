"""The launch of an MCP server: check its settings, fill in variables, and confine it to the sandbox."""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clawft.config.redaction import Secrets
from clawft.config.tools import ServerSettings
from clawft.errors import ClawftError
from clawft.files import is_within_any, real_path, real_paths
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.proxy import Record
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.audit import AuditLog
from clawft.trust.network import is_loopback, parse_grant
from clawft.trust.programs import HostPrograms, PreparedProgram
from clawft.workspace import Workspace, resolve_path

# The only variables a server inherits from our environment; `LC_` means every variable of the locale.
_INHERITED = ("PATH", "HOME", "USER", "LANG", "TMPDIR")
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_PROJECT = "${PROJECT}"  # in arguments and the folder; variables may be called so
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_MIN_LITERAL = 8  # a shorter value written into the config is a setting, not a key
_MIN_MASKED = 4  # a shorter value is no secret, and masking it would spoil every message


class StdioLaunch(Struct, frozen=True):
    """A program, all of its environment, and where it starts: '' is a neutral folder. Without `confinement` it has all
    rights of the user."""

    command: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    secrets: Secrets
    host_programs: HostPrograms
    confinement: Confinement | None = None

    def prepare(self) -> PreparedProgram:
        """Prepare it to be started without a sandbox. Raises: NotFound; Refused."""
        meant = {"PYTHONSAFEPATH": ""} if self.cwd else {}  # who names a folder means the modules in it, too
        return self.host_programs.prepare(self.command, {**meant, **self.env}, self.cwd)

    def __repr__(self) -> str:
        return f"StdioLaunch({self.command[0]!r})"


class HttpLaunch(Struct, frozen=True):
    """An address and the headers of every request to it."""

    url: str
    headers: dict[str, str]
    secrets: Secrets

    def __repr__(self) -> str:
        return f"HttpLaunch({urlsplit(self.url).hostname!r})"


Launch = StdioLaunch | HttpLaunch


class LaunchTerms(Struct, frozen=True):
    """Variable lookup and error hints for a server that the user did not configure."""

    find: Callable[[str], str | None]
    hint: str
    env_hint: str = ""  # for a variable without a value


def resolve_launch(
    name: str,
    settings: ServerSettings,
    workspace: Workspace,
    host_programs: HostPrograms,
    *,
    confined: bool = False,
    terms: LaunchTerms | None = None,
) -> Launch:
    """Resolve how to reach a server; `confined` is for one that is a program. Without `terms` it is the user's own.

    Raises: ClawftError with the code `mcp-name`, `mcp-settings`, `mcp-url` or `mcp-env`.
    """
    _check_name(name)
    brought, environ, project = terms is not None, host_programs.environ, workspace.project
    terms = terms or LaunchTerms(lambda one: environ.get(one, project if one == "PROJECT" else None), "")
    if bool(settings.command) == bool(settings.url):
        raise ClawftError(
            "mcp-settings",
            f"The server '{name}' has {'both a command and a URL' if settings.command else 'no command and no URL'}",
            hint=f"Give [mcp.servers.{name}] either command or url",
        )
    if settings.url:
        _check_url(name, settings.url)
        headers = _expand_all(name, settings.headers, terms)
        _check_headers(name, headers)
        return HttpLaunch(settings.url, headers, _secrets(settings.headers, headers, environ))
    own = _expand_all(name, settings.env, terms)
    folder, *args = settings.cwd, *settings.args
    if not brought:
        folder, *args = (arg.replace(_PROJECT, project) for arg in (folder, *args))
    cwd = resolve_path(folder, project, workspace.home) if folder or confined else ""
    command = (settings.command, *args)
    if any("\0" in text for text in (*command, *own, *own.values(), cwd)) or any("=" in key or not key for key in own):
        raise ClawftError("mcp-settings", f"The command or a variable of the server '{name}' cannot be passed on")
    confinement = _confine(name, settings, cwd, workspace, terms.hint) if confined else None
    inherited = {key: value for key, value in environ.items() if key in _INHERITED or key.startswith("LC_")}
    if brought and confinement is not None:
        # It has the folders that it was given, and none for having its program, its start or its PATH there.
        confinement = structs.replace(confinement, readable=settings.readable, only=True)
        own = _limit_path(own, inherited.get("PATH", os.defpath), settings.readable)
    return StdioLaunch(command, inherited | own, cwd, _secrets(settings.env, own, environ), host_programs, confinement)


def _confine(name: str, settings: ServerSettings, cwd: str, workspace: Workspace, hint: str) -> Confinement:
    """Return the sandbox limits of a server: it reads the folder it starts in and the folder of its own program."""
    for host in settings.hosts:
        try:
            parse_grant(host)
        except ClawftError as error:
            raise ClawftError("mcp-settings", f"hosts of the server '{name}': {error}", hint=error.hint) from error
    program = settings.command
    folder = os.path.dirname(resolve_path(program, cwd, workspace.home)) if "/" in program else ""
    configured = [resolve_path(path, workspace.project, workspace.home) for path in settings.readable]
    writable = tuple(resolve_path(path, workspace.project, workspace.home) for path in settings.writable)
    readable = tuple(filter(None, (cwd, folder, *configured)))
    hint = hint or f"Add {{host}} to hosts in [mcp.servers.{name}] of the config"
    return Confinement(writable, readable, hosts=settings.hosts, host_hint=hint)


def _limit_path(own: dict[str, str], known: str, folders: tuple[str, ...]) -> dict[str, str]:
    """Variables whose PATH has folders of the server and of the user's own PATH alone: all in it can be read, and where
    its links lead. So none that the server can change is among them."""
    if "PATH" not in own:
        return own
    listed, real_folders = known.split(os.pathsep), real_paths(folders)
    named = own["PATH"].split(os.pathsep)
    parts = (part for part in named if part in listed or is_within_any(real_path(part), real_folders))
    return own | {"PATH": os.pathsep.join(parts) or os.defpath}


def _check_name(name: str) -> None:
    # A trailing "_" would make `a_` + `__x` look like a tool `_x` of the server `a`.
    if not _SERVER_NAME.fullmatch(name) or "__" in name or name.endswith("_"):
        raise ClawftError(
            "mcp-name",
            f"'{ascii(name[:64])[1:-1]}' cannot be the name of a server",
            hint="Use letters, digits, '-' and single '_' in between: its tools are called NAME__tool",
        )


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    if host and safe and parts.username is None and parts.password is None and url.isascii() and url.isprintable():
        return
    raise ClawftError(
        "mcp-url",
        f"The address of the server '{name}' is not one that can be used safely",
        hint="Use https://, or http:// to this machine; put a key into headers, not into the address",
    )


def _check_headers(name: str, headers: Mapping[str, str]) -> None:
    for header, value in headers.items():
        if not (_HEADER_NAME.fullmatch(header) and _HEADER_VALUE.fullmatch(value)):
            raise ClawftError(
                "mcp-settings",
                f"The header {header[:64]!a} of the server '{name}' holds characters that HTTP does not allow",
            )


def _expand_all(name: str, values: Mapping[str, str], terms: LaunchTerms) -> dict[str, str]:
    """Values with `${NAME}` filled in. Raises: ClawftError `mcp-env` for a variable that is not set."""

    def fill(match: re.Match[str]) -> str:
        value = terms.find(match[1])
        if value is None:
            raise ClawftError(
                "mcp-env",
                f"The server '{name}' was not started: the variable {ascii(match[1][:64])[1:-1]} is not set",
                hint=terms.env_hint or f"Set it, or take it out of [mcp.servers.{name}]",
            )
        return value

    return {key: _VARIABLE.sub(fill, value) for key, value in values.items()}


def _secrets(written: Mapping[str, str], filled: Mapping[str, str], environ: Mapping[str, str]) -> Secrets:
    """Every value that no message may show: what variables held, and what is long enough to be a key itself."""
    taken = {environ.get(name, "") for value in written.values() for name in _VARIABLE.findall(value)}
    long = {value for value in filled.values() if len(value) >= _MIN_LITERAL}
    words = {word for value in long for word in value.split() if len(word) >= _MIN_LITERAL}  # "Bearer KEY"
    return Secrets(taken | long | words, _MIN_MASKED)


class ServerConfinement(Struct, frozen=True):
    """`servers` are those that run in `sandbox`."""

    sandbox: Sandbox
    servers: frozenset[str]
    audit: AuditLog

    def recorder(self, server: str) -> Record:
        """Writes down what is decided about a host that a server wants to reach."""

        def record(kind: str, subject: str, decision: str, rule: str) -> None:
            self.audit.record(kind, subject, decision=decision, rule=rule, detail={"server": server})

        return record

    def note(self, server: str, launch: Launch) -> None:
        """Write down that a server is started or reached. Raises: Refused if that is not possible."""
        detail: dict[str, Any] = {"server": server}
        if isinstance(launch, HttpLaunch):
            kind, subject = "url", launch.url
        else:
            kind, subject = "command", shlex.join(launch.command)
            confined = launch.confinement is not None
            detail |= {"sandbox": "confined"} if confined else {"sandbox": "none", "files": launch.prepare().files}
        rule = f"[mcp.servers.{server}]"
        self.audit.write(kind, launch.secrets.mask(subject), decision="allow", rule=rule, detail=detail)
