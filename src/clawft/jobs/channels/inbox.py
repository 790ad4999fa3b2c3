"""The inbox: accepted messages on disk, what became of each, and the answer its sender gets."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from clawft.agent.run_request import RunRequest
from clawft.contracts import InboundMessage
from clawft.jobs.channels.admission import make_run_id
from clawft.jobs.channels.store import INBOX, OUTBOX, GatewayTables
from clawft.jobs.database import EVENT, RUN, insert_new
from clawft.jobs.run_state import OVER, RunProblem, now_text
from clawft.jobs.store import RunStore
from clawft.messages import MessageSent

Taken = Literal["new", "known", "full", "enough"]  # enough: of this sender
_OPEN = ("accepted", "running")
_CHUNK = 100


class AcceptedMessage(Struct, frozen=True):
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


class EndedMessage(Struct, frozen=True):
    """A message whose run came to its end, or waits; `status` is '' where the run is gone."""

    message: AcceptedMessage
    status: str
    result: str = ""
    problem: RunProblem | None = None
    notices: tuple[str, ...] = ()  # what the agent told the person meanwhile: who is elsewhere reads it with the answer


class ChannelAnswer(Struct, frozen=True):
    """The answer to the sender of a message, and the message's state after it. `kind` distinguishes several answers.

    With an empty text nothing is sent.
    """

    ended: EndedMessage
    kind: str
    text: str
    state: str


class Inbox(GatewayTables):
    """All messages of a database, by the channels of one gateway."""

    def __init__(self, store: RunStore, channels: Sequence[str]) -> None:
        super().__init__(store.engine)
        self._store = store
        self._channels = tuple(channels)

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
        """Check whether a message would be accepted, without accepting it."""
        known = sa.select(INBOX.c.seq).where(INBOX.c.channel == channel, INBOX.c.message == message.id)
        with self._connect() as connection:
            if connection.execute(known).first():
                return "known"
            return self._find_lack(connection, channel, message.sender, max_pending, max_of_one) or "new"

    def _find_lack(
        self, connection: sa.Connection, channel: str, sender: str, max_pending: int, max_of_one: int | None
    ) -> Taken | None:
        """Return whether there is no room for a message: nobody may fill all of it."""
        its_own = sa.func.sum(sa.case((sa.and_(INBOX.c.channel == channel, INBOX.c.sender == sender), 1), else_=0))
        query = sa.select(sa.func.count(), its_own)
        query = query.where(INBOX.c.state.in_(_OPEN), INBOX.c.channel.in_(self._channels))
        pending, of_one = connection.execute(query).one()
        if max_of_one is not None and (of_one or 0) >= max_of_one:
            return "enough"
        return "full" if pending >= max_pending else None

    def start(
        self, make_request: Callable[[AcceptedMessage], RunRequest], queue: str, most_of_one: int = _CHUNK
    ) -> list[AcceptedMessage]:
        """Start the run of the oldest message in each conversation where none is under way, and return those messages.

        The runs of one sender are limited, so that no sender has to wait behind all of another's.
        """
        first = (
            sa.select(sa.func.min(INBOX.c.seq))
            .where(INBOX.c.state.in_(_OPEN), INBOX.c.channel.in_(self._channels))
            .group_by(INBOX.c.channel, INBOX.c.conversation)
        )
        heads = sa.select(INBOX).where(INBOX.c.seq.in_(first), INBOX.c.state == "accepted").order_by(INBOX.c.seq)
        with self._connect() as connection:
            busy = self._count_busy(connection)
            if full := [sender for sender, count in busy.items() if count >= most_of_one]:
                heads = heads.where(sa.tuple_(INBOX.c.channel, INBOX.c.sender).not_in(full))
            rows = connection.execute(heads.limit(_CHUNK)).mappings()
            if not (found := _share([AcceptedMessage(**row) for row in rows], busy, most_of_one)):
                return []
        requests = [(message.run, make_request(message)) for message in found]
        with self._begin() as connection:
            runs = [run for run, _ in requests]
            known = set(connection.execute(sa.select(RUN.c.id).where(RUN.c.id.in_(runs))).scalars())
            if new := [request for request in requests if request[0] not in known]:
                self._store.add_in(connection, new, queue)
            here = sa.and_(INBOX.c.seq.in_([message.seq for message in found]), INBOX.c.state == "accepted")
            connection.execute(sa.update(INBOX).where(here).values(state="running"))
        return found

    def list_waiting_senders(self) -> set[tuple[str, str]]:
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
        """Count the runs of each sender that are queued or running; a run that waits for the owner is not counted."""
        joined = sa.join(INBOX, RUN, RUN.c.id == INBOX.c.run)
        query = sa.select(INBOX.c.channel, INBOX.c.sender, sa.func.count()).select_from(joined)
        query = query.where(INBOX.c.state == "running", INBOX.c.channel.in_(self._channels))
        query = query.where(RUN.c.status.in_(("queued", "running"))).group_by(INBOX.c.channel, INBOX.c.sender)
        return Counter({(row[0], row[1]): row[2] for row in connection.execute(query)})

    def ended(self) -> list[EndedMessage]:
        """Find the messages whose sender is due an answer: the run is over, or waits for its owner.

        A message whose run failed is answered again once the owner has retried it with success.
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
            messages = _find_notices(connection, [row["run"] for row in rows if row["status"] == "done"])
        return [_to_ended(dict(row), messages.get(row["run"], ())) for row in rows]

    def settle(self, answers: Sequence[ChannelAnswer]) -> None:
        """Note what became of messages, and have their senders told."""
        with self._begin() as connection:
            for answer in answers:
                message = answer.ended.message
                same = sa.and_(INBOX.c.seq == message.seq, INBOX.c.state == message.state)
                changed = {"state": answer.state, "told": True}
                if connection.execute(sa.update(INBOX).where(same).values(changed)).rowcount and answer.text:
                    connection.execute(insert_new(connection, OUTBOX).values(_to_outgoing(answer)))

    def counts(self) -> dict[tuple[str, str], int]:
        """Count the messages by channel and state, including those of channels of other gateways."""
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


def _share(found: list[AcceptedMessage], busy: Counter[tuple[str, str]], most_of_one: int) -> list[AcceptedMessage]:
    """Those of which there are not too many of one sender."""
    chosen = []
    for message in found:
        who = (message.channel, message.sender)
        if busy[who] < most_of_one:
            busy[who] += 1
            chosen.append(message)
    return chosen


def _find_notices(connection: sa.Connection, runs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Find the messages that runs sent to the user, by run."""
    if not runs:
        return {}
    is_message = EVENT.c.event.contains('"event":"MessageSent"', autoescape=True)
    query = (
        sa.select(EVENT.c.run, EVENT.c.event)
        .where(EVENT.c.run.in_(runs), is_message)
        .order_by(EVENT.c.run, EVENT.c.seq)
    )
    found: dict[str, tuple[str, ...]] = {}
    for run, event in connection.execute(query):
        try:
            sent = msgspec.json.decode(event, type=MessageSent)
        except msgspec.DecodeError:  # another one that holds these words, as in what a tool was given
            continue
        found[run] = (*found.get(run, ()), *(() if sent.hook else (sent.text,)))
    return found


def _to_ended(row: dict[str, Any], messages: tuple[str, ...]) -> EndedMessage:
    status, result, error = row.pop("status"), row.pop("result"), row.pop("error")
    problem = None
    if error:
        try:
            problem = msgspec.json.decode(error, type=RunProblem)
        except msgspec.DecodeError:  # of a run that another version did
            problem = RunProblem("run-unreadable", "")
    return EndedMessage(AcceptedMessage(**row), status or "", result or "", problem, messages)


def _to_outgoing(answer: ChannelAnswer) -> dict[str, Any]:
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


REPEAT = "(possibly a repeat)"
_MAX_CHARS = 100_000


def render_channel_answer(ended: EndedMessage) -> ChannelAnswer:
    """Render the answer for a run that is over, or waits."""
    run = ended.message.run
    owner = f"Its owner sees it with: weft runs show {run}"
    if ended.status == "waiting":
        text = f"This waits for a yes of the agent's owner, and is answered after that.\n(weft runs answer {run})"
        return ChannelAnswer(ended, "waiting", text, "running")
    if ended.status == "done":
        text = "\n\n".join(filter(None, (part.strip() for part in (*ended.notices, ended.result))))
        text = text or f"This was done, and there is no text to answer with. {owner}"
        return ChannelAnswer(ended, "answer", _bound(text), "answered")
    # What went wrong may name files and hosts of the owner's, which are none of the sender's business.
    why = f" ({ended.problem.code})" if ended.problem else ""
    text = f"This could not be answered{why}. {owner}"
    if ended.status == "cancelled":
        text = f"This was cancelled, and is not answered. {owner}"
    if not ended.status:
        text = "This could not be answered: what was done about it is not there any more."
    return ChannelAnswer(ended, "failure", text, "failed")


def _bound(text: str) -> str:
    if len(text) <= _MAX_CHARS:
        return text
    return f"{text[:_MAX_CHARS]}\n… ({len(text) - _MAX_CHARS} characters more were left out)"
