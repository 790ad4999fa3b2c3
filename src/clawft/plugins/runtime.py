"""The common parts of running plugins, processes and components alike: interface, environment and log."""

import os
import stat
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, Protocol

from msgspec import Struct

from clawft.agent.mcp.remote import clean_text
from clawft.config.redaction import Secrets
from clawft.contracts import InboundMessage, MessagePayload, PluginError
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.audit import AuditLog
from clawft.workspace import Workspace

# busy: it does not answer, since it is at something else; hangs: it does not answer, and nobody knows what it is at
Health = Literal["stopped", "healthy", "unhealthy", "busy", "hangs", "left alone"]


class PluginFailed(PluginError):
    """A plugin did not do what was asked of it. No answer of its own: that is a plain PluginError."""


class PluginEnvironment(Struct, frozen=True):
    """The app's objects that running plugins use."""

    workspace: Workspace
    environ: Mapping[str, str]
    sandbox: Sandbox
    secrets: Secrets
    audit: AuditLog


class InboundReceiver(Protocol):
    """Takes what a channel receives; a ChannelHost without settings."""

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        """Raises: ChannelError if it cannot be taken now."""

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        """Raises: ChannelError if it cannot be taken now."""


class PluginInstance(Protocol):
    """One plugin from its start to its end. Once it is not `alive`, another is made for the next call."""

    @property
    def alive(self) -> bool: ...

    async def start(self) -> None:
        """Start it and have it get ready, within its time. Raises: ClawftError; it need not be closed then."""

    async def call(self, what: str, arguments: Mapping[str, Any]) -> Any:
        """Have it do something, within its time. Cancelling the call cancels what it does.

        Raises: PluginError with its own answer; PluginFailed.
        """

    async def health(self) -> Health: ...

    async def close(self) -> None:
        """Let it shut down, within its time, and end it. Raises: PluginFailed, once it has ended."""


MAX_REFUSALS = 100  # that one process is written down with, of those that it tells itself


def kind_of_refusal(rule: str) -> str:
    """For the audit log."""
    return "program" if rule == "no-shell" else "url"


def render_refusal(plugin_id: str, subject: str, rule: str) -> str:
    """For the plugin's log."""
    grant = f"weft plugins grant {plugin_id}"
    messages = {
        "not-granted": f"{subject} is not granted ({grant})",
        "no-host": f"{subject}: no host is granted ({grant})",
        "no-shell": f"{subject}: starting programs is not granted ({grant} --shell)",
        "past-proxy": f"{subject}: it does not go through the proxy; take host.connect, or what follows HTTPS_PROXY",
        "url-private-address": f"{subject}: it is private, and tools.web.block_private_ips keeps it closed",
    }
    other = f"{subject}: {rule}" + (f" ({grant})" if "granted" in rule else "")
    return "refused: " + " ".join(messages.get(rule, other).split())


MAX_BYTES = 1 << 20  # of one file; the one before is kept
_MAX_LINE = 8 * 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def log_path(user_dir: str, plugin_id: str) -> str:
    """Return the path of a plugin's log."""
    return os.path.join(user_dir, "logs", "plugins", f"{plugin_id}.log")


class PluginLog:
    """Takes output in pieces, and writes whole lines. A log that cannot be written stops nothing."""

    def __init__(self, path: str, mask: Callable[[str], str], *, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self._mask = mask
        self._max_bytes = max_bytes
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        """Take what a plugin wrote."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        self._write([line.decode("utf-8", "replace") for line in lines])

    def say(self, line: str) -> None:
        """Write a line of the host's own."""
        self._write([f"host: {line}"])

    def close(self) -> None:
        """Write what is left of a line."""
        if self._rest:
            self.add(b"\n")

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        now = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        text = "".join(f"{now} {clean_text(self._mask(line[:_MAX_LINE]))}\n" for line in lines)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            descriptor = os.open(self.path, _FLAGS, 0o600)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    return
                os.write(descriptor, text.encode("utf-8", "replace"))
            finally:
                os.close(descriptor)
            if status.st_size + len(text) > self._max_bytes:
                os.replace(self.path, f"{self.path}.1")
        except OSError:
            pass
