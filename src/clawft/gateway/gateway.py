"""The gateway: channels, the dispatcher and the senders together, from their start to an end that loses nothing."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from anyio import to_thread

from clawft.contracts import ChannelAdapter
from clawft.errors import ClawftError
from clawft.gateway.dispatch import Dispatcher
from clawft.gateway.intake import Intake
from clawft.gateway.keeper import Keeper
from clawft.gateway.means import Means

__all__ = ["Gateway"]

_FLUSH_S = 10.0
_LOOK_S = 0.05


class Gateway:
    """`channels` are adapters with the ids of their plugins. What does the runs is a worker, here or elsewhere."""

    def __init__(self, means: Means, channels: Sequence[tuple[ChannelAdapter, str]]) -> None:
        self._means = means
        self._dispatcher = Dispatcher(means, self._wake_senders)
        self._keepers = [
            Keeper(one, plugin, means, Intake(one.name, means, self._dispatcher.wake)) for one, plugin in channels
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run until the block ends; by then the worker is done, and what it answered last is sent, within bounds."""
        await self._tell_left()
        async with anyio.create_task_group() as group:
            group.start_soon(self._dispatcher.run)
            for keeper in self._keepers:
                group.start_soon(keeper.run)
                group.start_soon(keeper.sender.run)
            try:
                yield
            finally:
                self.stop()
                with anyio.CancelScope(shield=True):
                    await self._flush()
                    await self._stop_channels()
                group.cancel_scope.cancel()

    def stop(self) -> None:
        """Take nothing more, and start nothing more. What was accepted is answered when a gateway runs again."""
        self._dispatcher.is_closed = True
        for keeper in self._keepers:
            keeper.intake.is_closed = True

    def follow(self, allowed: Mapping[str, Sequence[str]]) -> None:
        """Who may write from now on, by channel. A channel that is not named may not run, and ends."""
        for keeper in () if self._dispatcher.is_closed else self._keepers:
            name = keeper.channel.name
            keeper.want(name in allowed)
            keeper.intake.is_closed = name not in allowed  # what comes meanwhile is not refused for good
            keeper.intake.allow = tuple(allowed.get(name, keeper.intake.allow))
        self._dispatcher.allowed = {name: tuple(senders) for name, senders in allowed.items()}

    def _wake_senders(self) -> None:
        for keeper in self._keepers:
            keeper.sender.wake()

    async def _tell_left(self) -> None:
        """Say what waits for a channel that is not run."""
        counts = await to_thread.run_sync(self._means.inbox.counts)
        unsent = await to_thread.run_sync(self._means.outbox.counts)
        here = {keeper.channel.name for keeper in self._keepers}
        left: dict[str, int] = {}
        for (channel, state), number in (*counts.items(), *unsent.items()):
            if channel not in here and state in ("accepted", "running", "pending", "sending"):
                left[channel] = left.get(channel, 0) + number
        for channel, number in left.items():
            words = f"{number} messages, for a gateway that runs this channel"
            self._means.report(channel, "waits", words, count=number)

    async def _flush(self) -> None:
        """Send what is there, as long as something can be sent."""
        running = [one.channel.name for one in self._keepers if one.channel.is_running()]
        try:
            await self._dispatcher.step()
            with anyio.move_on_after(_FLUSH_S):
                while await to_thread.run_sync(self._means.outbox.count_due, running, time.time()):
                    self._wake_senders()
                    await anyio.sleep(_LOOK_S)
        except ClawftError as error:
            self._means.warn(error)

    async def _stop_channels(self) -> None:
        async with anyio.create_task_group() as group:
            for keeper in self._keepers:
                group.start_soon(keeper.stop)
