"""Sends what a channel is to send: in order within a conversation, several conversations side by side."""

import time
from collections.abc import Callable

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from msgspec import structs

from clawft.contracts import ChannelAdapter, ChannelError, OutboundMessage, Unsupported
from clawft.errors import ClawftError
from clawft.gateway.answers import REPEAT
from clawft.gateway.means import Means
from clawft.gateway.outbox import LONGEST_S, Outgoing

__all__ = ["Sender"]

_SIDE_BY_SIDE = 8
_AGAIN_S = (1, 2, 5, 15, 60, 300, LONGEST_S)  # before it is tried again; then always the last
_MAX_ATTEMPTS = 24  # about four hours
_EVERY_S = 0.5
_MAX_ERROR = 500


class Sender:
    """Of one channel. `wake` when there is something to send."""

    def __init__(self, channel: ChannelAdapter, means: Means) -> None:
        self._channel = channel
        self._means = means
        self._busy: set[str] = set()
        self._woken = anyio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until it is cancelled. What was being sent then is in doubt, as after a crash."""
        name, means = self._channel.name, self._means
        doubted = -1
        async with anyio.create_task_group() as group:
            while True:
                self._woken = anyio.Event()
                try:
                    is_running = self._channel.is_running()
                    if is_running and doubted < 0:  # from now on it is this gateway that sends
                        doubted = await to_thread.run_sync(means.outbox.doubt, name)
                        if doubted:
                            words = f"{doubted}, of which nobody knows whether they were sent"
                            means.report(name, "sends-again", words, count=doubted)
                    is_busy = is_running and await self._send_due(group)
                except ClawftError as error:
                    means.warn(error)
                    is_busy = False
                if not is_busy:
                    with anyio.move_on_after(_EVERY_S):
                        await self._woken.wait()

    async def _send_due(self, group: TaskGroup) -> bool:
        room = _SIDE_BY_SIDE - len(self._busy)
        if room <= 0:
            return False
        claim = self._means.outbox.claim
        due = await to_thread.run_sync(claim, self._channel.name, tuple(self._busy), room, time.time())
        for one in due:
            self._busy.add(one.message.conversation)
            group.start_soon(self._send, one)
        return bool(due) and len(self._busy) < _SIDE_BY_SIDE

    async def _send(self, outgoing: Outgoing) -> None:
        message = outgoing.message
        try:
            await self._channel.send(self._mark(message))
        except Unsupported as error:
            await self._give_up(outgoing, str(error))
        except ChannelError as error:  # by its own word it was not sent
            await self._postpone(outgoing, str(error), in_doubt=False)
        except Exception as error:  # it hung, or died: nobody knows what came of it
            await self._postpone(outgoing, str(error) or repr(error), in_doubt=True)
        else:
            await self._insist(lambda: self._means.outbox.sent(outgoing.seq))
        finally:
            self._busy.discard(message.conversation)
            self.wake()

    def _mark(self, message: OutboundMessage) -> OutboundMessage:
        """Where the remote side can tell repeats by their key, it drops them, and none needs a mark."""
        if not message.is_repeat or self._channel.deduplicates:
            return structs.replace(message, is_repeat=False)
        return structs.replace(message, text=f"{REPEAT}\n{message.text}")

    async def _postpone(self, outgoing: Outgoing, error: str, *, in_doubt: bool) -> None:
        if outgoing.attempts >= _MAX_ATTEMPTS:
            await self._give_up(outgoing, error)
            return
        again_s = _AGAIN_S[min(outgoing.attempts, len(_AGAIN_S)) - 1]
        self._report(outgoing, "not-sent", f", again in {again_s} s", error[:_MAX_ERROR])
        at = time.time() + again_s
        await self._insist(lambda: self._means.outbox.postpone(outgoing.seq, at, error[:_MAX_ERROR], in_doubt=in_doubt))

    async def _give_up(self, outgoing: Outgoing, error: str) -> None:
        self._report(outgoing, "given-up", "", error[:_MAX_ERROR])
        await self._insist(lambda: self._means.outbox.give_up(outgoing.seq, error[:_MAX_ERROR]))

    def _report(self, outgoing: Outgoing, event: str, then: str, error: str) -> None:
        key = outgoing.message.key
        run = key.rpartition(":")[0]
        self._means.report(self._channel.name, event, f"{key}{then}: {error}", run=run, key=key, error=error)

    async def _insist(self, note: Callable[[], None]) -> None:
        """Write down what became of it, as soon as the database takes it: nothing else of the conversation is sent."""
        while True:
            try:
                with anyio.CancelScope(shield=True):  # what was sent, and is not noted, would be sent again
                    return await to_thread.run_sync(note)
            except ClawftError as error:
                self._means.warn(error)
            await anyio.sleep(_EVERY_S)
