"""The section `[serve]`: the daemon that `weft serve` runs, and the MCP server `weft mcp`."""

import os
from typing import Annotated

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef

_Count = Annotated[int, Meta(ge=1, le=10_000_000)]
_Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[serve.limits]`: how much one client may ask for, and how much may go on at a time."""

    #: How many requests a minute one client may make to read.
    reads_per_minute: _Count = 3_000
    #: How many requests a minute one client may make that do something.
    writes_per_minute: _Count = 600
    #: How many connections there may be at a time.
    connections: _Count = 1_000
    #: How many skills and messages may be worked on at a time; others wait.
    executions: _Count = 64
    #: How many may wait; more are refused.
    waiting: _Count = 1_000
    #: How many of them one connection may have at a time.
    per_connection: _Count = 16
    #: How large a message to the daemon may be, in kilobytes.
    message_kb: _Count = 1_024
    #: How much may wait for a client that does not read, in kilobytes; then it is dropped.
    unread_kb: _Count = 8_192


class ServeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[serve]`. What a project's config says here is not followed."""

    #: The address it listens on.
    host: str = "127.0.0.1"
    #: The port it listens on.
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8717
    #: The token that may do everything; if absent, one is made at the first start and kept in `~/.clawft/serve-token`.
    token: SecretRef | None = None
    #: The address that clients reach it under, where that is another one, as behind a proxy.
    public_url: str = ""
    #: Web pages of these origins may use it too, such as `https://app.example.com`.
    origins: tuple[str, ...] = ()
    #: A certificate for TLS of its own: a PEM file, with those that vouch for it.
    tls_cert: str = ""
    #: The key of that certificate: a PEM file.
    tls_key: str = ""
    #: Whether it serves the console, a page for browsers.
    console: bool = True
    #: Whether it is an MCP server too, at `/mcp`.
    mcp: bool = True
    #: How long a question of a tool waits for an answer; then it is a no.
    approval_timeout_s: _Seconds = 300.0
    #: How long work that goes on may take when it is to end.
    drain_s: _Seconds = 10.0
    limits: LimitSettings = LimitSettings()


def own_token_file(user_dir: str) -> str:
    """Return the path of the user's own token, for them and their programs."""
    return os.path.join(user_dir, "serve-token")
