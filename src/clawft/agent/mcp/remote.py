"""Tools and results of MCP servers as plain values, and untrusted text made harmless."""

import re
from typing import Any, NamedTuple

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.messages import Image

# Control characters, direction marks, and what is read by a model but seen by nobody: zero-width and filler
# characters, variation selectors of the supplement, tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def clean_text(text: str) -> str:
    """A text without characters that a reader cannot see or that change the order of others."""
    return _HIDDEN.sub("", text.replace("\r\n", "\n"))


def cut_text(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


_SEPARATOR = "__"


class RemoteTool(Struct, frozen=True):
    """A tool of a server, under the name `server__tool`. The hints are claims of the server: that the tool changes
    nothing, and that repeating a call changes nothing more."""

    name: str
    description: str
    parameters: dict[str, Any]
    server: str
    read_only_hint: bool = False
    trusted: bool = False
    idempotent_hint: bool = False


class RemoteToolListing(NamedTuple):
    """The tools of every server that answered, and why others or parts of them are missing."""

    tools: tuple[RemoteTool, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class RemoteResult(Struct, frozen=True):
    """The result of a call. `structured` is the JSON value sent along with the text; `cut` means that the text was
    longer."""

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
