"""Where a channel hands in what it receives: each message is judged, and on disk before the channel hears so."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from anyio import to_thread
from msgspec import structs

from clawft.contracts import ChannelError, InboundMessage, MessagePayload
from clawft.errors import ClawftError
from clawft.gateway.gate import MAX_NAME, clean_message, find_fault, is_allowed
from clawft.gateway.limits import SenderLimits
from clawft.gateway.means import Means

__all__ = ["Intake"]

_MAX_STRANGERS = 1_000  # who are told of one by one
_MAX_COMPLAINTS, _COMPLAIN_S = 30, 60.0  # that are told, and in which time
_MAX_SHOWN = 80


class Intake:
    """The host of one channel. `woken` is called when there is something to do."""

    def __init__(self, channel: str, means: Means, woken: Callable[[], None]) -> None:
        self.channel = channel
        self.refused = 0
        self.is_closed = False  # the gateway or the channel ends
        self.config: Mapping[str, Any] = {}  # a plugin has its settings from its own host
        self._means = means
        self._woken = woken
        self.allow = means.settings.channels[channel].allow  # replaced when the user says otherwise
        limit = means.settings.channels[channel].rate_limit or means.settings.rate_limit
        self._limits = SenderLimits(limit, time.monotonic)
        self._strangers: set[str] = set()
        self._complaints, self._complaining_since = 0, time.monotonic()
        self._turn = anyio.Lock()  # so that what was handed in first is first

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        """See `contracts.ChannelHost`. Raises: ChannelError."""
        if self.is_closed:
            raise ChannelError("Nothing is taken in now; hand it in again later", code="gateway-stopping")
        if not self._may_write(message.sender):
            await self._refuse(message.sender[:MAX_NAME])
            return False
        if fault := find_fault(message, self._means.settings.max_message_chars):
            self._complain(f"a message of {_short(message.sender)}: {fault}")
            return False
        clean = clean_message(message)
        async with self._turn:
            await self._take(structs.replace(clean, text=self._means.mask(clean.text)))  # secrets are not written down
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
        most, most_of_one = self._means.settings.max_pending, self._means.settings.max_pending_of_one
        try:
            # What is known, or must come again, is no new message of its sender: only what is taken is counted.
            given = (self.channel, message, most, most_of_one)
            state = await to_thread.run_sync(self._means.inbox.look, *given)
            if state == "new":
                self._count(message.sender)
                state = await to_thread.run_sync(self._means.inbox.accept, *given)
        except ChannelError:
            raise
        except ClawftError as error:
            self._means.warn(error)
            raise ChannelError(f"It cannot be written down now: {error}", code="gateway-unwritten") from error
        if state == "enough":
            said = f"{most_of_one} messages of {_short(message.sender)} wait for their answers; hand it in again later"
            raise ChannelError(said, code="gateway-enough")
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
        """Tell what is refused of somebody who may write; not of each, when there is no end to it."""
        now = time.monotonic()
        if now - self._complaining_since > _COMPLAIN_S:
            self._complaining_since, self._complaints = now, 0
        self._complaints += 1
        if self._complaints == _MAX_COMPLAINTS + 1:
            what = "more than these, which are not told of for a minute"
        if self._complaints <= _MAX_COMPLAINTS + 1:
            self._means.report(self.channel, "refused", what)

    async def _refuse(self, sender: str) -> None:
        """Who may not write gets no answer, nor a line for each message: the first is told of, and all are counted."""
        self.refused += 1
        if sender in self._strangers or len(self._strangers) > _MAX_STRANGERS:
            return
        self._strangers.add(sender)
        if len(self._strangers) > _MAX_STRANGERS:
            self._means.report(self.channel, "refused", "many more senders, who are counted and not named")
            return
        setting = f"gateway.channels.{self.channel}.allow"
        self._means.report(self.channel, "refused", f"{_short(sender)}, who is not in {setting}", sender=_short(sender))
        note = {"channel": self.channel, "sender": sender}
        subject = f"a message of {_short(sender)} by {self.channel}"
        await to_thread.run_sync(
            lambda: self._means.audit.tell("gateway", subject, decision="denied", rule=setting, detail=note)
        )


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
