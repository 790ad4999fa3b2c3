"""What all parts of a gateway share."""

from collections.abc import Callable

from msgspec import Struct

from clawft.config.gateway import GatewaySettings
from clawft.errors import ClawftError
from clawft.gateway.board import Board
from clawft.gateway.inbox import Inbox
from clawft.gateway.outbox import Outbox
from clawft.run.durable.request import RunRequest
from clawft.run.durable.store import RunStore
from clawft.trust.audit import Audit

__all__ = ["Means", "make_means"]

_POLL_S = 0.1


class Means(Struct, frozen=True):
    """`tell` gets a line for a person, `warn` what is wrong; `request` is what every run has in common."""

    settings: GatewaySettings
    store: RunStore
    inbox: Inbox
    outbox: Outbox
    board: Board
    audit: Audit
    request: RunRequest
    owner: str  # the worker of this gateway
    poll_s: float
    tell: Callable[[str], None]
    warn: Callable[[ClawftError], None]
    mask: Callable[[str], str] = str


def make_means(
    settings: GatewaySettings,
    store: RunStore,
    audit: Audit,
    request: RunRequest,
    voices: tuple[Callable[[str], None], Callable[[ClawftError], None]],
    owner: str,
) -> Means:
    """With the tables of the gateway in the database of runs; `voices` tell and warn. Raises: ClawftError."""
    inbox = Inbox(store, tuple(settings.channels))
    outbox, board = Outbox(store.engine), Board(store.engine)
    return Means(settings, store, inbox, outbox, board, audit, request, owner, _POLL_S, *voices)
