"""The tables of the gateway, the status of each channel, and the outbox of messages to send."""

from collections.abc import Collection, Sequence

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, Table, Text, UniqueConstraint

from clawft.contracts import OutboundMessage
from clawft.jobs.database import RunTables, insert_new, make_tables, translate_database_errors
from clawft.jobs.run_state import now_text
from clawft.jobs.worker_registry import WorkerRegistry, is_dead

METADATA = MetaData()

INBOX = Table(
    "weft_inbox",
    METADATA,
    Column("seq", Integer, primary_key=True),  # the order in which they were accepted
    Column("channel", Text, nullable=False),
    Column("message", Text, nullable=False),  # its id, as the channel gives it
    Column("conversation", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON, which the answer takes back
    Column("received", Text, nullable=False),
    Column("state", Text, nullable=False),  # accepted, running, answered, failed
    Column("run", Text, nullable=False),
    Column("told", Boolean, nullable=False),  # the sender knows that it waits for the owner
    UniqueConstraint("channel", "message", name="weft_inbox_once"),
    Index("weft_inbox_by_state", "state", "channel", "conversation", "seq"),
)

OUTBOX = Table(
    "weft_outbox",
    METADATA,
    Column("seq", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("channel", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("reply_to", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON
    Column("state", Text, nullable=False),  # pending, sending, sent, failed
    Column("attempts", Integer, nullable=False),
    Column("is_repeat", Boolean, nullable=False),  # it is not known whether it was sent before
    Column("not_before", Float, nullable=False),  # seconds since 1970
    Column("error", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Index("weft_outbox_by_state", "state", "channel", "conversation", "seq"),
)

CHANNEL = Table(
    "weft_channel",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("plugin", Text, nullable=False),
    Column("owner", Text, nullable=False),  # the worker of the gateway that runs it
    Column("state", Text, nullable=False),  # starting, running, failed, stopped
    Column("since", Text, nullable=False),
    Column("starts", Integer, nullable=False),
    Column("refused", Integer, nullable=False),  # messages of senders that are not allowed, since the gateway began
    Column("error", Text, nullable=False),  # the last one
    Column("error_at", Text, nullable=False),
)


class GatewayTables(RunTables):
    """Something that is kept in the tables of the gateway, which are made where they are missing."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        with translate_database_errors(engine.url):
            make_tables(engine, METADATA)


class ChannelRow(Struct, frozen=True):
    """A channel as its gateway last saw it."""

    name: str
    plugin: str
    owner: str
    state: str
    since: str
    starts: int
    refused: int
    error: str
    error_at: str


class ChannelStatuses(GatewayTables):
    """The channels there are or were."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        self._roster = WorkerRegistry(engine)

    def claim(self, name: str, plugin: str, owner: str) -> str:
        """Have a channel for one gateway; the worker of another that has it, or ''.

        Who is alive is known of workers: of one that died, its channels are free.
        """
        empty = {"state": "starting", "since": now_text(), "starts": 0, "refused": 0, "error": "", "error_at": ""}
        row = {"name": name, "plugin": plugin, "owner": owner, **empty}
        alive = [worker.id for worker in self._roster.workers() if worker.id != owner and not is_dead(worker)]
        with self._begin() as connection:
            connection.execute(insert_new(connection, CHANNEL).values(row))
            free = sa.and_(CHANNEL.c.name == name, CHANNEL.c.owner.not_in(alive))
            fresh = {"starts": sa.case((CHANNEL.c.owner == owner, CHANNEL.c.starts), else_=0)}
            taken = sa.update(CHANNEL).where(free).values(plugin=plugin, owner=owner, **fresh)
            if connection.execute(taken).rowcount:
                return ""
            return str(connection.execute(sa.select(CHANNEL.c.owner).where(CHANNEL.c.name == name)).scalar())

    def note(self, name: str, owner: str, state: str, *, refused: int, error: str = "") -> None:
        """Record the state of a channel, as reported by the gateway that runs it."""
        changed: dict[str, object] = {"state": state, "since": now_text(), "refused": refused}
        changed |= {"starts": CHANNEL.c.starts + 1} if state == "running" else {}
        changed |= {"error": error, "error_at": now_text()} if error else {}
        self._change(name, owner, changed)

    def keep(self, name: str, owner: str, refused: int) -> bool:
        """Return whether a gateway still has a channel; how many messages it refused is noted."""
        return self._change(name, owner, {"refused": refused})

    def _change(self, name: str, owner: str, changed: dict[str, object]) -> bool:
        mine = sa.and_(CHANNEL.c.name == name, CHANNEL.c.owner == owner)
        with self._begin() as connection:
            return bool(connection.execute(sa.update(CHANNEL).where(mine).values(changed)).rowcount)

    def rows(self) -> dict[str, ChannelRow]:
        with self._connect() as connection:
            found = connection.execute(sa.select(CHANNEL).order_by(CHANNEL.c.name)).mappings()
            return {row["name"]: ChannelRow(**row) for row in found}


LONGEST_S = 900  # that an answer is put off
_UNSENT = ("pending", "sending")


class OutgoingMessage(Struct, frozen=True):
    """A message that is being sent, in its so-manieth attempt."""

    seq: int
    attempts: int
    message: OutboundMessage


class ChannelOutbox(GatewayTables):
    """The messages that are to be sent, or were."""

    def doubt(self, channel: str) -> int:
        """Mark the messages that a gateway was sending when it died as possible repeats, and return their number: they
        may have arrived, or not."""
        here = sa.and_(OUTBOX.c.channel == channel, OUTBOX.c.state == "sending")
        with self._begin() as connection:
            changed = {"state": "pending", "is_repeat": True, "not_before": 0.0}
            return connection.execute(sa.update(OUTBOX).where(here).values(changed)).rowcount

    def claim(self, channel: str, busy: Collection[str], limit: int, now: float) -> list[OutgoingMessage]:
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
        """Count the messages by channel and state."""
        query = sa.select(OUTBOX.c.channel, OUTBOX.c.state, sa.func.count()).group_by(OUTBOX.c.channel, OUTBOX.c.state)
        with self._connect() as connection:
            return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    def count_due(self, channels: Sequence[str], now: float) -> int:
        """Count the messages that are being sent, or could be now."""
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


def _to_outgoing(row: sa.RowMapping) -> OutgoingMessage:
    message = OutboundMessage(
        key=row["key"],
        conversation=row["conversation"],
        text=row["text"],
        reply_to=row["reply_to"],
        is_repeat=row["is_repeat"],
        metadata=msgspec.json.decode(row["metadata"], type=dict),
    )
    return OutgoingMessage(row["seq"], row["attempts"] + 1, message)
