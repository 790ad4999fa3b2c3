"""Messages that were accepted, on disk before anybody is told so, and what became of each.

One of a conversation is answered at a time, in the order in which they came. Starting its run and noting that it was
started is one transaction, and so is noting its answer and having it sent: whoever dies in between did neither.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from clawft.contracts import InboundMessage
from clawft.gateway.keys import make_run_id
from clawft.gateway.tables import INBOX, METADATA, OUTBOX
from clawft.messages import MessageSent
from clawft.run.durable.database import Stored, insert_new, make_tables, translated
from clawft.run.durable.request import RunRequest
from clawft.run.durable.store import RunStore
from clawft.run.durable.tables import EVENT, RUN
from clawft.run.durable.values import OVER, Problem, now_text

__all__ = ["Accepted", "Answer", "Ended", "Inbox", "Taken"]

Taken = Literal["new", "known", "full", "enough"]  # enough: of this sender
_OPEN = ("accepted", "running")
_CHUNK = 100


class Accepted(Struct, frozen=True):
    """A message that was accepted."""

    seq: int
    channel: str
    message: str
    conversation: str
    sender: str
    text: str
    metadata: str
    received: str
    state: str
    run: str
    told: bool


class Ended(Struct, frozen=True):
    """A message whose run came to its end, or waits; `status` is '' where the run is gone."""

    message: Accepted
    status: str
    result: str = ""
    problem: Problem | None = None
    said: tuple[str, ...] = ()  # what the agent told the person meanwhile: who is elsewhere reads it with the answer


class Answer(Struct, frozen=True):
    """What the sender of a message is to be told, and the state that the message has then. `kind` tells several apart.

    With an empty text nothing is sent.
    """

    ended: Ended
    kind: str
    text: str
    state: str


class Inbox(Stored):
    """All messages of a database, by the channels of one gateway."""

    def __init__(self, store: RunStore, channels: Sequence[str]) -> None:
        super().__init__(store.engine)
        self._store = store
        self._channels = tuple(channels)
        with translated(self.engine.url):
            make_tables(self.engine, METADATA)

    def accept(self, channel: str, message: InboundMessage, max_pending: int, max_of_one: int | None = None) -> Taken:
        """Write a message down, unless so many wait, or so many of its sender. When this returns, it is on disk."""
        now = datetime.now(UTC)
        row = {
            "channel": channel,
            "message": message.id,
            "conversation": message.conversation,
            "sender": message.sender,
            "text": message.text,
            "metadata": msgspec.json.encode(message.metadata).decode(),
            "received": now_text(),
            "state": "accepted",
            "run": make_run_id(now),
            "told": False,
        }
        with self._begin() as connection:
            if lack := self._find_lack(connection, channel, message.sender, max_pending, max_of_one):
                return lack
            insert = insert_new(connection, INBOX).values(row).returning(INBOX.c.seq)
            return "new" if connection.execute(insert).first() else "known"

    def look(self, channel: str, message: InboundMessage, max_pending: int, max_of_one: int | None = None) -> Taken:
        """What would become of a message, without taking it."""
        known = sa.select(INBOX.c.seq).where(INBOX.c.channel == channel, INBOX.c.message == message.id)
        with self._connect() as connection:
            if connection.execute(known).first():
                return "known"
            return self._find_lack(connection, channel, message.sender, max_pending, max_of_one) or "new"

    def _find_lack(
        self, connection: sa.Connection, channel: str, sender: str, max_pending: int, max_of_one: int | None
    ) -> Taken | None:
        """Whether there is no room for a message: nobody may fill all of it."""
        its_own = sa.func.sum(sa.case((sa.and_(INBOX.c.channel == channel, INBOX.c.sender == sender), 1), else_=0))
        query = sa.select(sa.func.count(), its_own)
        query = query.where(INBOX.c.state.in_(_OPEN), INBOX.c.channel.in_(self._channels))
        pending, of_one = connection.execute(query).one()
        if max_of_one is not None and (of_one or 0) >= max_of_one:
            return "enough"
        return "full" if pending >= max_pending else None

    def start(
        self, make_request: Callable[[Accepted], RunRequest], queue: str, most_of_one: int = _CHUNK
    ) -> list[Accepted]:
        """Start the run of the oldest message in each conversation where none is under way; those messages.

        Of one sender only so many are begun or about to be, so that nobody has to wait behind all of somebody else's.
        """
        first = (
            sa.select(sa.func.min(INBOX.c.seq))
            .where(INBOX.c.state.in_(_OPEN), INBOX.c.channel.in_(self._channels))
            .group_by(INBOX.c.channel, INBOX.c.conversation)
        )
        heads = sa.select(INBOX).where(INBOX.c.seq.in_(first), INBOX.c.state == "accepted").order_by(INBOX.c.seq)
        with self._connect() as connection:
            busy = self._count_busy(connection)
            if full := [one for one, count in busy.items() if count >= most_of_one]:
                heads = heads.where(sa.tuple_(INBOX.c.channel, INBOX.c.sender).not_in(full))
            rows = connection.execute(heads.limit(_CHUNK)).mappings()
            if not (found := _share([Accepted(**row) for row in rows], busy, most_of_one)):
                return []
        requests = [(one.run, make_request(one)) for one in found]
        with self._begin() as connection:
            runs = [run for run, _ in requests]
            known = set(connection.execute(sa.select(RUN.c.id).where(RUN.c.id.in_(runs))).scalars())
            if new := [one for one in requests if one[0] not in known]:
                self._store.add_in(connection, new, queue)
            here = sa.and_(INBOX.c.seq.in_([one.seq for one in found]), INBOX.c.state == "accepted")
            connection.execute(sa.update(INBOX).where(here).values(state="running"))
        return found

    def waiting_senders(self) -> set[tuple[str, str]]:
        """Channels and senders of messages that were not begun."""
        query = sa.select(INBOX.c.channel, INBOX.c.sender).distinct()
        query = query.where(INBOX.c.state == "accepted", INBOX.c.channel.in_(self._channels))
        with self._connect() as connection:
            return {(row[0], row[1]) for row in connection.execute(query)}

    def drop(self, channel: str, sender: str) -> int:
        """Begin nothing more of what a sender wrote; how many messages that are."""
        of_sender = sa.and_(INBOX.c.channel == channel, INBOX.c.sender == sender, INBOX.c.state == "accepted")
        with self._begin() as connection:
            return connection.execute(sa.update(INBOX).where(of_sender).values(state="failed")).rowcount

    def _count_busy(self, connection: sa.Connection) -> Counter[tuple[str, str]]:
        """How many runs there are of each sender that a worker does, or is to do; who waits for the owner has none."""
        joined = sa.join(INBOX, RUN, RUN.c.id == INBOX.c.run)
        query = sa.select(INBOX.c.channel, INBOX.c.sender, sa.func.count()).select_from(joined)
        query = query.where(INBOX.c.state == "running", INBOX.c.channel.in_(self._channels))
        query = query.where(RUN.c.status.in_(("queued", "running"))).group_by(INBOX.c.channel, INBOX.c.sender)
        return Counter({(row[0], row[1]): row[2] for row in connection.execute(query)})

    def ended(self) -> list[Ended]:
        """Messages about which the sender is to be told something: the run is over, or waits for its owner.

        One that failed, and that the owner had tried again, is answered then.
        """
        over = sa.or_(RUN.c.id.is_(None), RUN.c.status.in_(OVER), sa.and_(RUN.c.status == "waiting", ~INBOX.c.told))
        due = sa.or_(
            sa.and_(INBOX.c.state == "running", over), sa.and_(INBOX.c.state == "failed", RUN.c.status == "done")
        )
        joined = sa.outerjoin(INBOX, RUN, RUN.c.id == INBOX.c.run)
        query = sa.select(INBOX, RUN.c.status.label("status"), RUN.c.result, RUN.c.error).select_from(joined)
        query = query.where(due, INBOX.c.channel.in_(self._channels)).order_by(INBOX.c.seq).limit(_CHUNK)
        with self._connect() as connection:
            rows = connection.execute(query).mappings().all()
            said = _find_said(connection, [row["run"] for row in rows if row["status"] == "done"])
        return [_to_ended(dict(row), said.get(row["run"], ())) for row in rows]

    def settle(self, answers: Sequence[Answer]) -> None:
        """Note what became of messages, and have their senders told."""
        with self._begin() as connection:
            for one in answers:
                message = one.ended.message
                same = sa.and_(INBOX.c.seq == message.seq, INBOX.c.state == message.state)
                changed = {"state": one.state, "told": True}
                if connection.execute(sa.update(INBOX).where(same).values(changed)).rowcount and one.text:
                    connection.execute(insert_new(connection, OUTBOX).values(_to_outgoing(one)))

    def counts(self) -> dict[tuple[str, str], int]:
        """How many messages there are, by channel and state; of channels that are not ours too."""
        query = sa.select(INBOX.c.channel, INBOX.c.state, sa.func.count()).group_by(INBOX.c.channel, INBOX.c.state)
        with self._connect() as connection:
            return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    def forget(self, days: float) -> None:
        """Forget messages that were answered so many days ago, and what was sent."""
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._begin() as connection:
            connection.execute(sa.delete(INBOX).where(INBOX.c.state.not_in(_OPEN), INBOX.c.received < before))
            connection.execute(
                sa.delete(OUTBOX).where(OUTBOX.c.state.in_(("sent", "failed")), OUTBOX.c.changed < before)
            )


def _share(found: list[Accepted], busy: Counter[tuple[str, str]], most_of_one: int) -> list[Accepted]:
    """Those of which there are not too many of one sender."""
    chosen = []
    for one in found:
        who = (one.channel, one.sender)
        if busy[who] < most_of_one:
            busy[who] += 1
            chosen.append(one)
    return chosen


def _find_said(connection: sa.Connection, runs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What runs told the person, by run."""
    if not runs:
        return {}
    told = EVENT.c.event.contains('"event":"MessageSent"', autoescape=True)
    query = sa.select(EVENT.c.run, EVENT.c.event).where(EVENT.c.run.in_(runs), told).order_by(EVENT.c.run, EVENT.c.seq)
    found: dict[str, tuple[str, ...]] = {}
    for run, event in connection.execute(query):
        try:
            sent = msgspec.json.decode(event, type=MessageSent)
        except msgspec.DecodeError:  # another one that holds these words, as in what a tool was given
            continue
        found[run] = (*found.get(run, ()), *(() if sent.hook else (sent.text,)))
    return found


def _to_ended(row: dict[str, Any], said: tuple[str, ...]) -> Ended:
    status, result, error = row.pop("status"), row.pop("result"), row.pop("error")
    problem = None
    if error:
        try:
            problem = msgspec.json.decode(error, type=Problem)
        except msgspec.DecodeError:  # of a run that another version did
            problem = Problem("run-unreadable", "")
    return Ended(Accepted(**row), status or "", result or "", problem, said)


def _to_outgoing(answer: Answer) -> dict[str, Any]:
    message = answer.ended.message
    return {
        "key": f"{message.run}:{answer.kind}",
        "channel": message.channel,
        "conversation": message.conversation,
        "text": answer.text,
        "reply_to": message.message,
        "metadata": message.metadata,
        "state": "pending",
        "attempts": 0,
        "is_repeat": False,
        "not_before": 0.0,
        "error": "",
        "changed": now_text(),
    }
