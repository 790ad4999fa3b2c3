"""Keeps one channel running: starts it, watches it, and starts it again when it ends or fails."""

from functools import partial

import anyio
from anyio import to_thread

from clawft.contracts import ChannelAdapter
from clawft.errors import ClawftError
from clawft.gateway.intake import Intake
from clawft.gateway.means import Means
from clawft.gateway.sender import Sender

__all__ = ["Keeper"]

_AGAIN_S = (1, 2, 5, 15, 60, 300)  # before it is started again; then always the last
_LASTED_S = 60.0  # what ran that long begins anew with the first of them
_LOOK_S = 0.1
_STOP_S = 8.0
_KEEP_S = 5.0
_MAX_ERROR = 500


class Keeper:
    """Of one channel, with what hands in its messages and what sends its answers."""

    def __init__(self, channel: ChannelAdapter, plugin: str, means: Means, intake: Intake) -> None:
        self.channel = channel
        self.intake = intake
        self.sender = Sender(channel, means)
        self._plugin = plugin
        self._means = means
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
            again_s = _AGAIN_S[min(failures, len(_AGAIN_S)) - 1]
            self._means.report(
                self.channel.name, "failed", f"again in {again_s} s: {error}", again_s=again_s, error=error
            )
            await self._tell_state("failed", error)
            with anyio.move_on_after(again_s):
                await self._cancel.wait()
        await self._tell_state("stopped")
        self._over.set()

    def want(self, is_wanted: bool) -> None:
        """Whether the channel may run; if not, it ends, until it may again."""
        if is_wanted == self._is_wanted or self._is_stopping:
            return
        self._is_wanted = is_wanted
        why = "" if is_wanted else "its plugin may not be used any more, or the config turns it off"
        self._means.report(self.channel.name, "may-run-again" if is_wanted else "ends", why)
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
            claim = partial(self._means.board.claim, self.channel.name, self._plugin, self._means.owner)
            if other := await to_thread.run_sync(claim):
                return f"another gateway runs it, with the worker {other}"
            self._means.report(self.channel.name, "starting")
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
                self._means.report(self.channel.name, "running" if was_running else "not-connected")
                await self._tell_state("running" if was_running else "starting")
                self.sender.wake()
            if anyio.current_time() - looked > _KEEP_S:
                looked = anyio.current_time()
                if not await self._is_ours():
                    raise ClawftError("gateway-channel", "another gateway took it over")
            await anyio.sleep(_LOOK_S)

    async def _tell_state(self, state: str, error: str = "") -> None:
        board, refused = self._means.board, self.intake.refused
        note = partial(board.note, self.channel.name, self._means.owner, state, refused=refused, error=error)
        try:
            await to_thread.run_sync(note)
        except ClawftError as trouble:
            self._means.warn(trouble)

    async def _is_ours(self) -> bool:
        keep = partial(self._means.board.keep, self.channel.name, self._means.owner, self.intake.refused)
        try:
            return await to_thread.run_sync(keep)
        except ClawftError as error:  # nobody can take it either
            self._means.warn(error)
            return True


def _tell(error: BaseException) -> str:
    """The first thing that went wrong, in words."""
    if isinstance(error, BaseExceptionGroup):
        return _tell(error.exceptions[0])
    said = str(error) if isinstance(error, ClawftError) else f"it raised {type(error).__name__}: {error}"
    return said[:_MAX_ERROR]
