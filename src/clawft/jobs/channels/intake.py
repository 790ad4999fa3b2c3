"""The intake of a channel: accept a message, store it, dispatch it as a run, and queue the answer."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
from anyio import to_thread
from msgspec import Struct, structs

from clawft.agent.run_request import MessageSource, RunRequest
from clawft.config.jobs import GatewaySettings
from clawft.contracts import ChannelError, InboundMessage, MessagePayload
from clawft.errors import ClawftError
from clawft.jobs.channels.admission import (
    MAX_NAME,
    SenderLimits,
    clean_message,
    find_fault,
    is_allowed,
    make_session_key,
)
from clawft.jobs.channels.inbox import AcceptedMessage, Inbox, render_channel_answer
from clawft.jobs.channels.store import ChannelOutbox, ChannelStatuses
from clawft.jobs.store import RunStore
from clawft.trust.audit import AuditLog

_POLL_S = 0.1


ReportLine = Callable[[str, Mapping[str, object]], None]  # a line for a person, and the same in fields


class GatewayContext(Struct, frozen=True):
    """`tell` hears what happens, `warn` what is wrong; `request` is what every run has in common."""

    settings: GatewaySettings
    store: RunStore
    inbox: Inbox
    outbox: ChannelOutbox
    board: ChannelStatuses
    audit: AuditLog
    request: RunRequest
    owner: str  # the worker of this gateway
    poll_s: float
    tell: ReportLine
    warn: Callable[[ClawftError], None]
    mask: Callable[[str], str] = str

    def report(self, channel: str, event: str, words: str = "", **about: object) -> None:
        """Tell what happens to a channel; `about` is what else a program would like to know of it."""
        text = "  ".join(filter(None, (channel, event.replace("-", " "), words)))
        self.tell(text, {"channel": channel, "event": event, **about})


def make_gateway_context(
    settings: GatewaySettings,
    store: RunStore,
    audit: AuditLog,
    request: RunRequest,
    voices: tuple[ReportLine, Callable[[ClawftError], None]],
    owner: str,
) -> GatewayContext:
    """With the tables of the gateway in the database of runs; `voices` tell and warn. Raises: ClawftError."""
    inbox = Inbox(store, tuple(settings.channels))
    outbox, board = ChannelOutbox(store.engine), ChannelStatuses(store.engine)
    return GatewayContext(settings, store, inbox, outbox, board, audit, request, owner, _POLL_S, *voices)


_MAX_REFUSED = 1_000  # refused senders that are reported one by one
_MAX_COMPLAINTS, _COMPLAIN_S = 30, 60.0  # how many refusals are reported, and in which time
_MAX_SHOWN = 80


class ChannelIntake:
    """The host of one channel. `woken` is called when there is something to do."""

    def __init__(self, channel: str, context: GatewayContext, woken: Callable[[], None]) -> None:
        self.channel = channel
        self.refused = 0
        self.is_closed = False  # the gateway or the channel ends
        self.config: Mapping[str, Any] = {}  # a plugin has its settings from its own host
        self._context = context
        self._woken = woken
        self.allow = context.settings.channels[channel].allow  # replaced when the user says otherwise
        limit = context.settings.channels[channel].rate_limit or context.settings.rate_limit
        self._limits = SenderLimits(limit, time.monotonic)
        self._refused_senders: set[str] = set()
        self._complaints, self._complaining_since = 0, time.monotonic()
        self._turn = anyio.Lock()  # so that what was handed in first is first

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        """See `contracts.ChannelHost`. Raises: ChannelError."""
        if self.is_closed:
            raise ChannelError("Nothing is taken in now; hand it in again later", code="gateway-stopping")
        if not self._may_write(message.sender):
            await self._refuse(message.sender[:MAX_NAME])
            return False
        if fault := find_fault(message, self._context.settings.max_message_chars):
            self._complain(f"a message of {_short(message.sender)}: {fault}")
            return False
        clean = clean_message(message)
        async with self._turn:
            await self._take(
                structs.replace(clean, text=self._context.mask(clean.text))
            )  # secrets are not written down
        return True

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        """Nothing is made of anything but text."""
        del conversation
        if self._may_write(sender):
            kind = type(payload).__name__.lower()
            self._complain(f"what {_short(sender)} sent is {kind}; only text is answered")
        else:
            await self._refuse(sender[:MAX_NAME])
        return False

    def _may_write(self, sender: str) -> bool:
        return len(sender) <= MAX_NAME and is_allowed(sender, self.allow)

    async def _take(self, message: InboundMessage) -> None:
        """Raises: ChannelError."""
        most, most_of_one = self._context.settings.max_pending, self._context.settings.max_pending_of_one
        try:
            # What is known, or must come again, is no new message of its sender: only what is taken is counted.
            arguments = (self.channel, message, most, most_of_one)
            state = await to_thread.run_sync(self._context.inbox.look, *arguments)
            if state == "new":
                self._count(message.sender)
                state = await to_thread.run_sync(self._context.inbox.accept, *arguments)
        except ChannelError:
            raise
        except ClawftError as error:
            self._context.warn(error)
            raise ChannelError(f"It cannot be written down now: {error}", code="gateway-unwritten") from error
        if state == "enough":
            refusal = (
                f"{most_of_one} messages of {_short(message.sender)} wait for their answers; hand it in again later"
            )
            raise ChannelError(refusal, code="gateway-enough")
        if state == "full":
            raise ChannelError(f"{most} messages wait for their answers; hand it in again later", code="gateway-full")
        self._woken()

    def _count(self, sender: str) -> None:
        """Raises: ChannelError for who writes too fast."""
        wait_s = self._limits.take(sender)
        if wait_s:
            message = f"{_short(sender)} writes too fast; hand it in again in {wait_s:.1f} seconds"
            raise ChannelError(message, code="gateway-rate")

    def _complain(self, what: str) -> None:
        """Report a refused message of an allowed sender, limited to a number per minute."""
        now = time.monotonic()
        if now - self._complaining_since > _COMPLAIN_S:
            self._complaining_since, self._complaints = now, 0
        self._complaints += 1
        if self._complaints == _MAX_COMPLAINTS + 1:
            what = "more than these, which are not told of for a minute"
        if self._complaints <= _MAX_COMPLAINTS + 1:
            self._context.report(self.channel, "refused", what)

    async def _refuse(self, sender: str) -> None:
        """Count a message of a sender that is not allowed. Such senders get no answer, and only the first message of
        each is reported."""
        self.refused += 1
        if sender in self._refused_senders or len(self._refused_senders) > _MAX_REFUSED:
            return
        self._refused_senders.add(sender)
        if len(self._refused_senders) > _MAX_REFUSED:
            self._context.report(self.channel, "refused", "many more senders, who are counted and not named")
            return
        setting = f"gateway.channels.{self.channel}.allow"
        self._context.report(
            self.channel, "refused", f"{_short(sender)}, who is not in {setting}", sender=_short(sender)
        )
        note = {"channel": self.channel, "sender": sender}
        subject = f"a message of {_short(sender)} by {self.channel}"
        await to_thread.run_sync(
            lambda: self._context.audit.tell("gateway", subject, decision="deny", rule=setting, detail=note)
        )


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


_RETENTION_DAYS = 30  # that answered messages are known, so that none is taken twice
_FORGET_S = 3600.0
_FORGETFUL = {"CLAWFT_MEMORY__ENABLED": "false"}  # what others said, the owner too, is nothing for the sender
_QUIET_S, _IDLE_S = 5.0, 0.5  # after so long without anything to do it looks less often


class Dispatcher:
    """Starts what is due, and answers what is over. `wake` it when something was accepted; it calls `answered`.

    `allowed` tells who may write, by channel; change it as a whole.
    """

    def __init__(self, context: GatewayContext, answered: Callable[[], None]) -> None:
        self.allowed = {name: channel.allow for name, channel in context.settings.channels.items()}
        self._checked: Mapping[str, Sequence[str]] | None = None
        self._context = context
        self._answered = answered
        self._forgot = -_FORGET_S
        self.is_closed = False
        self._woken = anyio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until it is cancelled. Where the database cannot be used this is said, and tried again."""
        active = anyio.current_time()
        while True:
            self._woken = anyio.Event()
            try:
                is_busy = await self.step()
            except ClawftError as error:
                self._context.warn(error)
                is_busy = False
            if is_busy:
                active = anyio.current_time()
            else:
                is_quiet = anyio.current_time() - active > _QUIET_S
                with anyio.move_on_after(_IDLE_S if is_quiet else self._context.poll_s):
                    await self._woken.wait()

    async def step(self) -> bool:
        """Answer and start what there is; whether there was anything."""
        context = self._context
        ended = await to_thread.run_sync(context.inbox.ended)
        if ended:
            answers = [render_channel_answer(ended_message) for ended_message in ended]
            await to_thread.run_sync(context.inbox.settle, answers)
            for answer in answers:
                message = answer.ended.message
                context.report(message.channel, answer.kind, message.run, run=message.run)
            self._answered()
        started: list[AcceptedMessage] = []
        if not self.is_closed:
            await self._check_allowed()
            most = max(1, context.settings.concurrency - 1)  # whatever one sender has done, another finds room
            start = partial(context.inbox.start, self._make_request, context.settings.queue, most)
            started = await to_thread.run_sync(start)
            for message in started:
                who = message.sender
                context.report(message.channel, "starts", f"{message.run}  from {who}", run=message.run, sender=who)
            await self._forget()
        return bool(ended or started)

    async def _check_allowed(self) -> None:
        """Drop the waiting messages of senders that are no longer allowed, unless their run was started."""
        if self._checked == self.allowed:
            return
        inbox, allowed = self._context.inbox, self.allowed
        for channel, sender in sorted(await to_thread.run_sync(inbox.list_waiting_senders)):
            if channel in allowed and not is_allowed(sender, allowed[channel]):
                count = await to_thread.run_sync(inbox.drop, channel, sender)
                words = f"{count} messages of {sender[:_MAX_SHOWN]}, who may not write any more"
                self._context.report(channel, "dropped", words, sender=sender[:_MAX_SHOWN], count=count)
        self._checked = allowed

    async def _forget(self) -> None:
        now = anyio.current_time()
        if now - self._forgot >= _FORGET_S:
            self._forgot = now
            await to_thread.run_sync(self._context.inbox.forget, _RETENTION_DAYS)

    def _make_request(self, message: AcceptedMessage) -> RunRequest:
        channel = self._context.settings.channels[message.channel]
        settings = self._context.request.settings
        return structs.replace(
            self._context.request,
            kind="gateway",
            text=message.text,
            agent=channel.agent,
            model=channel.model,
            mode=channel.mode,
            settings=settings if channel.memory else {**settings, **_FORGETFUL},
            session=make_session_key(message.channel, message.conversation),
            source=MessageSource(message.channel, message.sender, message.conversation, message.message),
        )
