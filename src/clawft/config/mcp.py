"""The section `[mcp]`: servers whose tools the agent may use, and which of them run confined."""

import os
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from clawft.config.load import Config
from clawft.config.sandbox import own_sandbox

__all__ = ["McpSettings", "Section", "ServerSettings", "find_confined"]

_Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.servers.NAME]`: a command that speaks on stdin and stdout, or a URL. Its tools are `NAME__tool`."""

    #: The program to start.
    command: str = ""
    #: Its arguments; `${PROJECT}` is the folder of the project.
    args: tuple[str, ...] = ()
    #: Variables it gets beside PATH, HOME and the locale; `${NAME}` takes the value of a variable, and `${PROJECT}` is
    #: the folder of the project unless there is a variable of that name.
    env: dict[str, str] = {}
    #: The folder it starts in, which may be `${PROJECT}`. If absent, your home; for one that is confined, the project.
    cwd: str = ""
    #: The address of a streamable HTTP server, in place of a command.
    url: str = ""
    #: HTTP headers; `${NAME}` takes the value of a variable.
    headers: dict[str, str] = {}
    #: false leaves the server alone.
    enabled: bool = True
    #: true runs its tools without asking before each call.
    trusted: bool = False
    #: `confined` runs it in the sandbox, `none` with all your rights. Unless you say so, a project's is confined.
    sandbox: Literal["none", "confined"] | None = None
    #: Hosts that it may reach from the sandbox, as `example.com`, `*.example.com` or with a port.
    hosts: tuple[str, ...] = ()
    #: Folders that it may change from the sandbox; it sees the folder it starts in, and changes nothing else.
    writable: tuple[str, ...] = ()
    #: Further files and folders that it may read from the sandbox.
    readable: tuple[str, ...] = ()
    #: How long starting it may take, in seconds.
    start_timeout_s: _Seconds = 30
    #: How long one call may take, in seconds.
    timeout_s: _Seconds = 60


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp]`."""

    servers: dict[str, ServerSettings] = {}


def find_confined(config: Config, user_dir: str) -> frozenset[str]:
    """The servers that run in the sandbox.

    Where the sandbox is turned off, none of the user's own. A project's file can never say that one be left out; the
    user can, of a server that is not also their own: what they said of their own command is not said of one that a
    project puts in its place.
    """
    ours: dict[str, dict[str, Any]] = {}
    theirs: set[str] = set()
    for layer in config.layers:
        servers = layer.values.get("mcp", {}).get("servers", {})
        if os.path.isabs(layer.source) and os.path.dirname(layer.source) != user_dir:
            theirs |= set(servers)
        else:
            for name, server in servers.items():
                ours[name] = {**ours.get(name, {}), **server}
    off = own_sandbox(config, user_dir).mode == "off"
    return frozenset(name for name in {*ours, *theirs} if _is_confined(ours.get(name, {}), name in theirs, off=off))


def _is_confined(own: dict[str, Any], foreign: bool, *, off: bool) -> bool:
    if not foreign:
        return own.get("sandbox") == "confined" and not off
    return own.get("sandbox") != "none" or "command" in own


Section = McpSettings
