"""What a server offers and gives, as plain values: the tools layer needs no word of the protocol."""

from typing import Any, NamedTuple

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.messages import Image

__all__ = ["Listing", "RemoteError", "RemoteResult", "RemoteTool", "join_name", "split_name"]

_SEPARATOR = "__"


class RemoteTool(Struct, frozen=True):
    """A tool of a server, under the name `server__tool` (R170). The hints are the server's own word: that it changes
    nothing, and that a second call of the same kind changes nothing more."""

    name: str
    description: str
    parameters: dict[str, Any]
    server: str
    read_only_hint: bool = False
    trusted: bool = False
    idempotent_hint: bool = False


class Listing(NamedTuple):
    """The tools of every server that answered, and why others or parts of them are missing."""

    tools: tuple[RemoteTool, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class RemoteResult(Struct, frozen=True):
    """What a call gave. `structured` is the JSON value beside the text; `cut` tells that the text was longer."""

    text: str
    images: tuple[Image, ...] = ()
    is_error: bool = False
    structured: Any = None
    cut: bool = False


class RemoteError(ClawftError):
    """A call that gave no result. Codes: `mcp-start` (the server does not start), `mcp-lost` (it went away),
    `mcp-timeout`, `mcp-arguments`, `mcp-refused` (it answered with an error), `mcp-unknown` (no such server),
    `mcp-input` (it asks for what is not offered)."""


def join_name(server: str, tool: str) -> str:
    return server + _SEPARATOR + tool


def split_name(name: str) -> tuple[str, str]:
    """The server and the tool of a name; no server's name holds or ends in what separates them."""
    server, _, tool = name.partition(_SEPARATOR)
    return server, tool
