"""The gateway: run channels, restart those that fail, send answers in order, and stop without losing a message."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from msgspec import structs

from clawft.contracts import ChannelAdapter, ChannelError, OutboundMessage, Unsupported
from clawft.errors import ClawftError
from clawft.jobs.channels.inbox import REPEAT
from clawft.jobs.channels.intake import ChannelIntake, Dispatcher, GatewayContext
from clawft.jobs.channels.store import LONGEST_S, OutgoingMessage

_SIDE_BY_SIDE = 8
_AGAIN_S = (1, 2, 5, 15, 60, 300, LONGEST_S)  # before it is tried again; then always the last
_MAX_ATTEMPTS = 24  # about four hours
_EVERY_S = 0.5
_MAX_ERROR = 500


class ChannelSender:
    """The sender of one channel's outgoing messages. Call `wake` when there is something to send."""

    def __init__(self, channel: ChannelAdapter, context: GatewayContext) -> None:
        self._channel = channel
        self._context = context
        self._busy: set[str] = set()
        self._woken = anyio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until it is cancelled. What was being sent then is in doubt, as after a crash."""
        name, context = self._channel.name, self._context
        doubted = -1
        async with anyio.create_task_group() as group:
            while True:
                self._woken = anyio.Event()
                try:
                    is_running = self._channel.is_running()
                    if is_running and doubted < 0:  # from now on it is this gateway that sends
                        doubted = await to_thread.run_sync(context.outbox.doubt, name)
                        if doubted:
                            words = f"{doubted}, of which nobody knows whether they were sent"
                            context.report(name, "sends-again", words, count=doubted)
                    is_busy = is_running and await self._send_due(group)
                except ClawftError as error:
                    context.warn(error)
                    is_busy = False
                if not is_busy:
                    with anyio.move_on_after(_EVERY_S):
                        await self._woken.wait()

    async def _send_due(self, group: TaskGroup) -> bool:
        room = _SIDE_BY_SIDE - len(self._busy)
        if room <= 0:
            return False
        claim = self._context.outbox.claim
        due = await to_thread.run_sync(claim, self._channel.name, tuple(self._busy), room, time.time())
        for outgoing in due:
            self._busy.add(outgoing.message.conversation)
            group.start_soon(self._send, outgoing)
        return bool(due) and len(self._busy) < _SIDE_BY_SIDE

    async def _send(self, outgoing: OutgoingMessage) -> None:
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
            await self._insist(lambda: self._context.outbox.sent(outgoing.seq))
        finally:
            self._busy.discard(message.conversation)
            self.wake()

    def _mark(self, message: OutboundMessage) -> OutboundMessage:
        """Mark a repeated message as such, unless the remote side drops duplicates by their key."""
        if not message.is_repeat or self._channel.deduplicates:
            return structs.replace(message, is_repeat=False)
        return structs.replace(message, text=f"{REPEAT}\n{message.text}")

    async def _postpone(self, outgoing: OutgoingMessage, error: str, *, in_doubt: bool) -> None:
        if outgoing.attempts >= _MAX_ATTEMPTS:
            await self._give_up(outgoing, error)
            return
        again_s = _AGAIN_S[min(outgoing.attempts, len(_AGAIN_S)) - 1]
        self._report(outgoing, "not-sent", f", again in {again_s} s", error[:_MAX_ERROR])
        at = time.time() + again_s
        await self._insist(
            lambda: self._context.outbox.postpone(outgoing.seq, at, error[:_MAX_ERROR], in_doubt=in_doubt)
        )

    async def _give_up(self, outgoing: OutgoingMessage, error: str) -> None:
        self._report(outgoing, "given-up", "", error[:_MAX_ERROR])
        await self._insist(lambda: self._context.outbox.give_up(outgoing.seq, error[:_MAX_ERROR]))

    def _report(self, outgoing: OutgoingMessage, event: str, then: str, error: str) -> None:
        key = outgoing.message.key
        run = key.rpartition(":")[0]
        self._context.report(self._channel.name, event, f"{key}{then}: {error}", run=run, key=key, error=error)

    async def _insist(self, note: Callable[[], None]) -> None:
        """Write down what became of it, as soon as the database takes it: nothing else of the conversation is sent."""
        while True:
            try:
                with anyio.CancelScope(shield=True):  # what was sent, and is not noted, would be sent again
                    return await to_thread.run_sync(note)
            except ClawftError as error:
                self._context.warn(error)
            await anyio.sleep(_EVERY_S)


_KEEPER_AGAIN_S = (1, 2, 5, 15, 60, 300)  # before it is started again; then always the last
_LASTED_S = 60.0  # what ran that long begins anew with the first of them
_LOOK_S = 0.1
_STOP_S = 8.0
_KEEP_S = 5.0


class ChannelSupervisor:
    """The supervisor of one channel, with the intake of its messages and the sender of its answers."""

    def __init__(self, channel: ChannelAdapter, plugin: str, context: GatewayContext, intake: ChannelIntake) -> None:
        self.channel = channel
        self.intake = intake
        self.sender = ChannelSender(channel, context)
        self._plugin = plugin
        self._context = context
        self._is_wanted = True
        self._is_stopping = False
        self._cancel = anyio.Event()  # of the life that it leads now
        self._over = anyio.Event()

    async def run(self) -> None:
        """Until `stop`. Nothing that a channel does ends it."""
        failures = 0
        while not self._is_stopping:
            self._cancel = anyio.Event()
            if not self._is_wanted:
                await self._tell_state("stopped")
                await self._cancel.wait()
                continue
            begun = anyio.current_time()
            error = await self._attempt()
            if self._cancel.is_set():
                continue
            failures = 1 if anyio.current_time() - begun > _LASTED_S else failures + 1
            again_s = _KEEPER_AGAIN_S[min(failures, len(_KEEPER_AGAIN_S)) - 1]
            self._context.report(
                self.channel.name, "failed", f"again in {again_s} s: {error}", again_s=again_s, error=error
            )
            await self._tell_state("failed", error)
            with anyio.move_on_after(again_s):
                await self._cancel.wait()
        await self._tell_state("stopped")
        self._over.set()

    def want(self, is_wanted: bool) -> None:
        """Start or stop the channel: it runs only while it is wanted."""
        if is_wanted == self._is_wanted or self._is_stopping:
            return
        self._is_wanted = is_wanted
        why = "" if is_wanted else "its plugin may not be used any more, or the config turns it off"
        self._context.report(self.channel.name, "may-run-again" if is_wanted else "ends", why)
        self._cancel.set()

    async def stop(self) -> None:
        """Have the channel end, within bounds."""
        self._is_stopping = True
        self._cancel.set()
        with anyio.move_on_after(_STOP_S):
            await self._over.wait()

    async def _attempt(self) -> str:
        """One life of the channel; why it ended."""
        try:
            claim = partial(self._context.board.claim, self.channel.name, self._plugin, self._context.owner)
            if other := await to_thread.run_sync(claim):
                return f"another gateway runs it, with the worker {other}"
            self._context.report(self.channel.name, "starting")
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch)
                try:
                    await self.channel.start(self.intake, self._cancel)
                finally:
                    group.cancel_scope.cancel()
        except (ClawftError, ExceptionGroup) as error:
            return _tell(error)
        return "it ended by itself"

    async def _watch(self) -> None:
        """Tell when it is connected, and no more; and see that no other gateway took it."""
        was_running, looked = False, anyio.current_time()
        while True:
            if self.channel.is_running() != was_running:
                was_running = not was_running
                self._context.report(self.channel.name, "running" if was_running else "not-connected")
                await self._tell_state("running" if was_running else "starting")
                self.sender.wake()
            if anyio.current_time() - looked > _KEEP_S:
                looked = anyio.current_time()
                if not await self._is_ours():
                    raise ClawftError("gateway-channel", "another gateway took it over")
            await anyio.sleep(_LOOK_S)

    async def _tell_state(self, state: str, error: str = "") -> None:
        board, refused = self._context.board, self.intake.refused
        note = partial(board.note, self.channel.name, self._context.owner, state, refused=refused, error=error)
        try:
            await to_thread.run_sync(note)
        except ClawftError as trouble:
            self._context.warn(trouble)

    async def _is_ours(self) -> bool:
        keep = partial(self._context.board.keep, self.channel.name, self._context.owner, self.intake.refused)
        try:
            return await to_thread.run_sync(keep)
        except ClawftError as error:  # nobody can take it either
            self._context.warn(error)
            return True


def _tell(error: BaseException) -> str:
    """The first thing that went wrong, in words."""
    if isinstance(error, BaseExceptionGroup):
        return _tell(error.exceptions[0])
    message = str(error) if isinstance(error, ClawftError) else f"it raised {type(error).__name__}: {error}"
    return message[:_MAX_ERROR]


_FLUSH_S = 10.0
_GATEWAY_LOOK_S = 0.05


class Gateway:
    """`channels` are adapters with the ids of their plugins. What does the runs is a worker, here or elsewhere."""

    def __init__(self, context: GatewayContext, channels: Sequence[tuple[ChannelAdapter, str]]) -> None:
        self._context = context
        self._dispatcher = Dispatcher(context, self._wake_senders)
        self._keepers = [
            ChannelSupervisor(adapter, plugin, context, ChannelIntake(adapter.name, context, self._dispatcher.wake))
            for adapter, plugin in channels
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
                    async with anyio.create_task_group() as stopping:
                        for keeper in self._keepers:
                            stopping.start_soon(keeper.stop)
                group.cancel_scope.cancel()

    def stop(self) -> None:
        """Take nothing more, and start nothing more. What was accepted is answered when a gateway runs again."""
        self._dispatcher.is_closed = True
        for keeper in self._keepers:
            keeper.intake.is_closed = True

    def follow(self, allowed: Mapping[str, Sequence[str]]) -> None:
        """Apply the current lists of allowed senders, by channel. A channel that is not listed may not run, and is
        stopped."""
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
        counts = await to_thread.run_sync(self._context.inbox.counts)
        unsent = await to_thread.run_sync(self._context.outbox.counts)
        here = {keeper.channel.name for keeper in self._keepers}
        left: dict[str, int] = {}
        for (channel, state), number in (*counts.items(), *unsent.items()):
            if channel not in here and state in ("accepted", "running", "pending", "sending"):
                left[channel] = left.get(channel, 0) + number
        for channel, number in left.items():
            words = f"{number} messages, for a gateway that runs this channel"
            self._context.report(channel, "waits", words, count=number)

    async def _flush(self) -> None:
        """Send what is there, as long as something can be sent."""
        running = [keeper.channel.name for keeper in self._keepers if keeper.channel.is_running()]
        try:
            await self._dispatcher.step()
            with anyio.move_on_after(_FLUSH_S):
                while await to_thread.run_sync(self._context.outbox.count_due, running, time.time()):
                    self._wake_senders()
                    await anyio.sleep(_GATEWAY_LOOK_S)
        except ClawftError as error:
            self._context.warn(error)
