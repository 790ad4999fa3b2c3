"""The section `[mcp]`: servers whose tools the agent may use."""

from typing import Annotated

from msgspec import Meta, Struct

__all__ = ["McpSettings", "Section", "ServerSettings"]

_Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.servers.NAME]`: a command that speaks on stdin and stdout, or a URL. Its tools are `NAME__tool`."""

    #: The program to start.
    command: str = ""
    #: Its arguments.
    args: tuple[str, ...] = ()
    #: Variables it gets beside PATH, HOME and the locale; `${NAME}` takes the value of a variable.
    env: dict[str, str] = {}
    #: The folder it starts in; the project if absent.
    cwd: str = ""
    #: The address of a streamable HTTP server, in place of a command.
    url: str = ""
    #: HTTP headers; `${NAME}` takes the value of a variable.
    headers: dict[str, str] = {}
    #: false leaves the server alone.
    enabled: bool = True
    #: true runs its tools without asking before each call.
    trusted: bool = False
    #: How long starting it may take, in seconds.
    start_timeout_s: _Seconds = 30
    #: How long one call may take, in seconds.
    timeout_s: _Seconds = 60


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp]`."""

    servers: dict[str, ServerSettings] = {}


Section = McpSettings
