"""From accepted messages to runs, and from runs that are over to answers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio
from anyio import to_thread
from msgspec import structs

from clawft.errors import ClawftError
from clawft.gateway.answers import make_answer
from clawft.gateway.gate import is_allowed
from clawft.gateway.inbox import Accepted
from clawft.gateway.keys import make_session_key
from clawft.gateway.means import Means
from clawft.run.durable.request import RunRequest
from clawft.run.turn import Source

__all__ = ["Dispatcher"]

_KEPT_DAYS = 30  # that answered messages are known, so that none is taken twice
_FORGET_S = 3600.0
_FORGETFUL = {"CLAWFT_MEMORY__ENABLED": "false"}  # what others said, the owner too, is nothing for the sender
_MAX_SHOWN = 80
_QUIET_S, _IDLE_S = 5.0, 0.5  # after so long without anything to do it looks less often


class Dispatcher:
    """Starts what is due, and answers what is over. `wake` it when something was accepted; it calls `answered`.

    `allowed` tells who may write, by channel; change it as a whole.
    """

    def __init__(self, means: Means, answered: Callable[[], None]) -> None:
        self.allowed = {name: one.allow for name, one in means.settings.channels.items()}
        self._checked: Mapping[str, Sequence[str]] | None = None
        self._means = means
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
                self._means.warn(error)
                is_busy = False
            if is_busy:
                active = anyio.current_time()
            else:
                is_quiet = anyio.current_time() - active > _QUIET_S
                with anyio.move_on_after(_IDLE_S if is_quiet else self._means.poll_s):
                    await self._woken.wait()

    async def step(self) -> bool:
        """Answer and start what there is; whether there was anything."""
        means = self._means
        ended = await to_thread.run_sync(means.inbox.ended)
        if ended:
            answers = [make_answer(one) for one in ended]
            await to_thread.run_sync(means.inbox.settle, answers)
            for one in answers:
                message = one.ended.message
                means.report(message.channel, one.kind, message.run, run=message.run)
            self._answered()
        started: list[Accepted] = []
        if not self.is_closed:
            await self._check_allowed()
            most = max(1, means.settings.concurrency - 1)  # whatever one sender has done, another finds room
            start = partial(means.inbox.start, self._make_request, means.settings.queue, most)
            started = await to_thread.run_sync(start)
            for message in started:
                who = message.sender
                means.report(message.channel, "starts", f"{message.run}  from {who}", run=message.run, sender=who)
            await self._forget()
        return bool(ended or started)

    async def _check_allowed(self) -> None:
        """Who may not write any more is not answered either, as far as nothing was begun."""
        if self._checked == self.allowed:
            return
        inbox, allowed = self._means.inbox, self.allowed
        for channel, sender in sorted(await to_thread.run_sync(inbox.waiting_senders)):
            if channel in allowed and not is_allowed(sender, allowed[channel]):
                count = await to_thread.run_sync(inbox.drop, channel, sender)
                words = f"{count} messages of {sender[:_MAX_SHOWN]}, who may not write any more"
                self._means.report(channel, "dropped", words, sender=sender[:_MAX_SHOWN], count=count)
        self._checked = allowed

    async def _forget(self) -> None:
        now = anyio.current_time()
        if now - self._forgot >= _FORGET_S:
            self._forgot = now
            await to_thread.run_sync(self._means.inbox.forget, _KEPT_DAYS)

    def _make_request(self, message: Accepted) -> RunRequest:
        channel = self._means.settings.channels[message.channel]
        settings = self._means.request.settings
        return structs.replace(
            self._means.request,
            kind="gateway",
            text=message.text,
            agent=channel.agent,
            model=channel.model,
            mode=channel.mode,
            settings=settings if channel.memory else {**settings, **_FORGETFUL},
            session=make_session_key(message.channel, message.conversation),
            source=Source(message.channel, message.sender, message.conversation, message.message),
        )
