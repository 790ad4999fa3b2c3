"""What all parts of a gateway share."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from clawft.config.gateway import GatewaySettings
from clawft.errors import ClawftError
from clawft.gateway.board import Board
from clawft.gateway.inbox import Inbox
from clawft.gateway.outbox import Outbox
from clawft.run.durable.request import RunRequest
from clawft.run.durable.store import RunStore
from clawft.trust.audit import Audit

__all__ = ["Means", "Tell", "make_means"]

_POLL_S = 0.1


Tell = Callable[[str, Mapping[str, object]], None]  # a line for a person, and the same in fields


class Means(Struct, frozen=True):
    """`tell` hears what happens, `warn` what is wrong; `request` is what every run has in common."""

    settings: GatewaySettings
    store: RunStore
    inbox: Inbox
    outbox: Outbox
    board: Board
    audit: Audit
    request: RunRequest
    owner: str  # the worker of this gateway
    poll_s: float
    tell: Tell
    warn: Callable[[ClawftError], None]
    mask: Callable[[str], str] = str

    def report(self, channel: str, event: str, words: str = "", **about: object) -> None:
        """Tell what happens to a channel; `about` is what else a program would like to know of it."""
        text = "  ".join(filter(None, (channel, event.replace("-", " "), words)))
        self.tell(text, {"channel": channel, "event": event, **about})


def make_means(
    settings: GatewaySettings,
    store: RunStore,
    audit: Audit,
    request: RunRequest,
    voices: tuple[Tell, Callable[[ClawftError], None]],
    owner: str,
) -> Means:
    """With the tables of the gateway in the database of runs; `voices` tell and warn. Raises: ClawftError."""
    inbox = Inbox(store, tuple(settings.channels))
    outbox, board = Outbox(store.engine), Board(store.engine)
    return Means(settings, store, inbox, outbox, board, audit, request, owner, _POLL_S, *voices)
