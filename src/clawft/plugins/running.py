"""What a plugin is while it runs, whether it is a process or a component."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from clawft.config.masking import Secrets
from clawft.contracts import InboundMessage, MessagePayload, PluginError
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.audit import Audit
from clawft.workspace import Workspace

__all__ = ["Around", "Health", "Inbound", "PluginFailed", "Running"]

# busy: it does not answer, since it is at something else; hangs: it does not answer, and nobody knows what it is at
Health = Literal["stopped", "healthy", "unhealthy", "busy", "hangs", "left alone"]


class PluginFailed(PluginError):
    """A plugin did not do what was asked of it. No answer of its own: that is a plain PluginError."""


class Around(Struct, frozen=True):
    """What running plugins stand in."""

    workspace: Workspace
    environ: Mapping[str, str]
    sandbox: Sandbox
    secrets: Secrets
    audit: Audit


class Inbound(Protocol):
    """Takes what a channel receives; a ChannelHost without settings."""

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        """Raises: ChannelError if it cannot be taken now."""

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        """Raises: ChannelError if it cannot be taken now."""


class Running(Protocol):
    """One plugin from its start to its end. Once it is not `alive`, another is made for the next call."""

    @property
    def alive(self) -> bool: ...

    async def start(self) -> None:
        """Start it and have it get ready, within its time. Raises: ClawftError; it need not be closed then."""

    async def call(self, what: str, given: Mapping[str, Any]) -> Any:
        """Have it do something, within its time. Cancelling the call cancels what it does.

        Raises: PluginError with its own answer; PluginFailed.
        """

    async def health(self) -> Health: ...

    async def close(self) -> None:
        """Let it shut down, within its time, and end it. Raises: PluginFailed, once it has ended."""
