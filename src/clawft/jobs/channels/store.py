"""What goes out: written down before it is sent, and noted when it was, one of a conversation at a time, in order.

That a message is about to be sent is on disk before the channel gets it. Whoever finds it so later cannot know whether
it arrived: it is sent again, as one that may be a repeat.
"""

from collections.abc import Collection, Sequence

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from clawft.contracts import OutboundMessage
from clawft.gateway.tables import METADATA, OUTBOX
from clawft.run.durable.database import Stored, make_tables, translated
from clawft.run.durable.values import now_text

__all__ = ["LONGEST_S", "Outbox", "Outgoing"]

LONGEST_S = 900  # that an answer is put off
_UNSENT = ("pending", "sending")


class Outgoing(Struct, frozen=True):
    """A message that is being sent, in its so-manieth attempt."""

    seq: int
    attempts: int
    message: OutboundMessage


class Outbox(Stored):
    """All that is to be sent, or was."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        with translated(engine.url):
            make_tables(engine, METADATA)

    def doubt(self, channel: str) -> int:
        """What a gateway was sending when it died may have arrived, or not; how many there are."""
        here = sa.and_(OUTBOX.c.channel == channel, OUTBOX.c.state == "sending")
        with self._begin() as connection:
            changed = {"state": "pending", "is_repeat": True, "not_before": 0.0}
            return connection.execute(sa.update(OUTBOX).where(here).values(changed)).rowcount

    def claim(self, channel: str, busy: Collection[str], limit: int, now: float) -> list[Outgoing]:
        """The next message of each conversation that is not busy; each counts as being sent from now on."""
        first = (
            sa.select(sa.func.min(OUTBOX.c.seq))
            .where(OUTBOX.c.state.in_(_UNSENT), OUTBOX.c.channel == channel)
            .group_by(OUTBOX.c.conversation)
        )
        due = sa.and_(OUTBOX.c.seq.in_(first), OUTBOX.c.state == "pending", _is_time(now))
        due = sa.and_(due, OUTBOX.c.conversation.not_in(tuple(busy))) if busy else due
        with self._connect() as connection:
            rows = connection.execute(sa.select(OUTBOX).where(due).order_by(OUTBOX.c.seq).limit(limit)).mappings().all()
        if not rows:
            return []
        with self._begin() as connection:
            mine = sa.and_(OUTBOX.c.seq.in_([row["seq"] for row in rows]), OUTBOX.c.state == "pending")
            changed = {"state": "sending", "attempts": OUTBOX.c.attempts + 1, "changed": now_text()}
            connection.execute(sa.update(OUTBOX).where(mine).values(changed))
        return [_to_outgoing(row) for row in rows]

    def sent(self, seq: int) -> None:
        self._change(seq, state="sent", error="")

    def postpone(self, seq: int, not_before: float, error: str, *, in_doubt: bool) -> None:
        """It was not sent, or nobody knows: it is tried again later."""
        more = {"is_repeat": True} if in_doubt else {}
        self._change(seq, state="pending", not_before=not_before, error=error, **more)

    def give_up(self, seq: int, error: str) -> None:
        self._change(seq, state="failed", error=error)

    def _change(self, seq: int, **values: object) -> None:
        with self._begin() as connection:
            changed = {**values, "changed": now_text()}
            connection.execute(sa.update(OUTBOX).where(OUTBOX.c.seq == seq).values(changed))

    def counts(self) -> dict[tuple[str, str], int]:
        """How many messages there are, by channel and state."""
        query = sa.select(OUTBOX.c.channel, OUTBOX.c.state, sa.func.count()).group_by(OUTBOX.c.channel, OUTBOX.c.state)
        with self._connect() as connection:
            return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    def count_due(self, channels: Sequence[str], now: float) -> int:
        """How many messages are being sent, or could be now."""
        due = sa.or_(OUTBOX.c.state == "sending", sa.and_(OUTBOX.c.state == "pending", _is_time(now)))
        query = sa.select(sa.func.count()).where(due, OUTBOX.c.channel.in_(channels))
        with self._connect() as connection:
            return connection.execute(query).scalar() or 0

    def failures(self, limit: int) -> list[tuple[str, str, str, str]]:
        """The last messages that were given up: when, channel, key, why."""
        query = sa.select(OUTBOX.c.changed, OUTBOX.c.channel, OUTBOX.c.key, OUTBOX.c.error)
        query = query.where(OUTBOX.c.state == "failed").order_by(OUTBOX.c.changed.desc()).limit(limit)
        with self._connect() as connection:
            return [(row.changed, row.channel, row.key, row.error) for row in connection.execute(query)]


def _is_time(now: float) -> sa.ColumnElement[bool]:
    """Nothing is put off for longer than this, but the clock may have been set back since."""
    return sa.or_(OUTBOX.c.not_before <= now, OUTBOX.c.not_before > now + LONGEST_S)


def _to_outgoing(row: sa.RowMapping) -> Outgoing:
    message = OutboundMessage(
        key=row["key"],
        conversation=row["conversation"],
        text=row["text"],
        reply_to=row["reply_to"],
        is_repeat=row["is_repeat"],
        metadata=msgspec.json.decode(row["metadata"], type=dict),
    )
    return Outgoing(row["seq"], row["attempts"] + 1, message)
