"""Settings of a server to what is started or reached: checked, with variables filled in, and nothing else let in.

Reads no environment but the one it is given, and starts nothing.
"""

import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clawft.config.masking import Secrets
from clawft.config.mcp import ServerSettings
from clawft.errors import ClawftError
from clawft.files import is_within, real_path
from clawft.programs import Launcher, Program
from clawft.sandbox.confinement import Confinement
from clawft.trust.hosts import parse_grant
from clawft.trust.urls import is_loopback
from clawft.workspace import Workspace, resolve_path

__all__ = ["HttpLaunch", "Launch", "StdioLaunch", "Terms", "resolve_launch"]

# All that a server learns of our environment; `LC_` stands for every variable of the locale.
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
    launcher: Launcher
    confinement: Confinement | None = None

    def prepare(self) -> Program:
        """Prepare it to be started without a sandbox. Raises: NotFound; Refused."""
        meant = {"PYTHONSAFEPATH": ""} if self.cwd else {}  # who names a folder means the modules in it, too
        return self.launcher.prepare(self.command, {**meant, **self.env}, self.cwd)

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


class Terms(Struct, frozen=True):
    """Of a server that the user did not configure: what stands for a variable, if anything, and who to ask for more."""

    find: Callable[[str], str | None]
    hint: str
    env_hint: str = ""  # of a variable that nothing stands for


def resolve_launch(
    name: str,
    settings: ServerSettings,
    workspace: Workspace,
    launcher: Launcher,
    *,
    confined: bool = False,
    terms: Terms | None = None,
) -> Launch:
    """How to reach a server; `confined` is for one that is a program. Without `terms` it is the user's own.

    Raises: ClawftError with the code `mcp-name`, `mcp-settings`, `mcp-url` or `mcp-env`.
    """
    _check_name(name)
    brought, environ, project = terms is not None, launcher.environ, workspace.project
    terms = terms or Terms(lambda one: environ.get(one, project if one == "PROJECT" else None), "")
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
        folder, *args = (one.replace(_PROJECT, project) for one in (folder, *args))
    cwd = resolve_path(folder, project, workspace.home) if folder or confined else ""
    command = (settings.command, *args)
    if any("\0" in text for text in (*command, *own, *own.values(), cwd)) or any("=" in key or not key for key in own):
        raise ClawftError("mcp-settings", f"The command or a variable of the server '{name}' cannot be passed on")
    confinement = _confine(name, settings, cwd, workspace, terms.hint) if confined else None
    inherited = _inherit(environ)
    if brought and confinement is not None:
        # It has the folders that it was given, and none for having its program, its start or its PATH there.
        confinement = structs.replace(confinement, shown=settings.readable, only=True)
        own = _limit_path(own, inherited.get("PATH", os.defpath), settings.readable)
    return StdioLaunch(command, inherited | own, cwd, _secrets(settings.env, own, environ), launcher, confinement)


def _confine(name: str, settings: ServerSettings, cwd: str, workspace: Workspace, hint: str) -> Confinement:
    """What a server reaches from the sandbox: it reads the folder it starts in and that of its own program."""
    for host in settings.hosts:
        try:
            parse_grant(host)
        except ClawftError as error:
            raise ClawftError("mcp-settings", f"hosts of the server '{name}': {error}", hint=error.hint) from error
    program = settings.command
    folder = os.path.dirname(resolve_path(program, cwd, workspace.home)) if "/" in program else ""
    given = [resolve_path(one, workspace.project, workspace.home) for one in settings.readable]
    writable = tuple(resolve_path(one, workspace.project, workspace.home) for one in settings.writable)
    shown = tuple(filter(None, (cwd, folder, *given)))
    for path in (*shown, *writable):
        _check_inside(name, path, workspace.project)
    hint = hint or f"Add {{host}} to hosts in [mcp.servers.{name}] of the config"
    return Confinement(writable, shown=shown, hosts=settings.hosts, host_hint=hint)


def _check_inside(name: str, path: str, project: str) -> None:
    """What was approved as a place of the project must not lead elsewhere by a link that was put there since.

    Raises: ClawftError.
    """
    if is_within(os.path.normpath(path), project) and not is_within(real_path(path), real_path(project)):
        message = (
            f"The server '{name}' is not started: a place of the project that it is given leads out of it by a link"
        )
        hint = f"Remove the link, or name where it leads in [mcp.servers.{name}]"
        raise ClawftError("mcp-settings", message, path=path, hint=hint)


def _limit_path(own: dict[str, str], known: str, folders: tuple[str, ...]) -> dict[str, str]:
    """Variables whose PATH has folders of the server and of the user's own PATH alone: all in it can be read, and where
    its links lead. So none that the server can change is among them."""
    if "PATH" not in own:
        return own
    listed = known.split(os.pathsep)
    kept = (one for one in own["PATH"].split(os.pathsep) if one in listed or _lies_in(one, folders))
    return own | {"PATH": os.pathsep.join(kept) or os.defpath}


def _lies_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(is_within(real_path(path), real_path(folder)) for folder in folders)


def _check_name(name: str) -> None:
    # A trailing "_" would make `a_` + `__x` look like a tool `_x` of the server `a` (R118).
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


def _expand_all(name: str, values: Mapping[str, str], terms: Terms) -> dict[str, str]:
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


def _inherit(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name in _INHERITED or name.startswith("LC_")}


def _secrets(written: Mapping[str, str], filled: Mapping[str, str], environ: Mapping[str, str]) -> Secrets:
    """Every value that no message may show: what variables held, and what is long enough to be a key itself."""
    taken = {environ.get(name, "") for value in written.values() for name in _VARIABLE.findall(value)}
    long = {value for value in filled.values() if len(value) >= _MIN_LITERAL}
    words = {word for value in long for word in value.split() if len(word) >= _MIN_LITERAL}  # "Bearer KEY"
    return Secrets(taken | long | words, _MIN_MASKED)
