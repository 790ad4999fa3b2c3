"""The host of plugins: starts each when it is first used, calls it, contains what goes wrong, and ends them all.

Nothing that a plugin does reaches further than the call at hand: whoever called hears of it, the person is told once,
and a plugin that fails again and again is left alone.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import TaskGroup

from clawft.config.plugins import PluginsSettings
from clawft.contracts import PluginError
from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.plugins.latest import Latest
from clawft.plugins.notes import Notes
from clawft.plugins.running import Around, Health, Inbound, PluginFailed, Running
from clawft.trust.plugins import PluginStanding, entry_of_plugin

__all__ = ["Plugins"]

_LOOK_S = 2.0  # how soon it is noticed that a plugin may not be used any more
_LONG_S = 60.0  # what worked for so long, as a channel does, did not fail right after the failure before


class _Hosted:
    """One plugin, and what runs of it, if anything does."""

    def __init__(self, standing: PluginStanding) -> None:
        self.standing = standing
        self.lock = anyio.Lock()
        self.running: Running | None = None
        self.failures = 0
        self.stale = False  # what runs was granted something else
        self.counted: Running | None = None  # that which ended with a failure that was counted
        self.closed: Running | None = None  # that which was last ended on purpose


class Plugins:
    """The plugins that may be used. Leaving it shuts down those that run, the last started first."""

    def __init__(
        self,
        standings: Sequence[PluginStanding],
        settings: PluginsSettings,
        around: Around,
        latest: Latest | None = None,
    ) -> None:
        """`latest` tells what was decided since; without it, what is so now stays so."""
        self.standings = tuple(standings)
        self.settings = settings
        self.around = around
        self.is_patient = False  # whoever calls pauses by himself after failures, so no plugin is left alone
        self.changes = 0  # how often other plugins may be used than before
        self._latest = latest
        self._hosted = {one.id: _Hosted(one) for one in _find_ready(standings)}
        self._is_watched = False
        self._order: list[_Hosted] = []  # as they were started
        self._inbound: dict[tuple[str, str], Inbound] = {}
        self._group: TaskGroup | None = None
        self._notes = Notes(around)

    @property
    def ready(self) -> tuple[PluginStanding, ...]:
        """Those that may be used, in order of precedence."""
        return tuple(one.standing for one in self._hosted.values())

    async def __aenter__(self) -> "Plugins":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._group is not None
        group, self._group = self._group, None  # nothing is started from now on
        with anyio.CancelScope(shield=True):  # every wait inside is bounded
            for hosted in (*reversed(self._order), *self._hosted.values()):  # these may be about to run
                async with hosted.lock:
                    await self._close(hosted)
        group.cancel_scope.cancel()
        # Not told of the caller's error, which it would wrap into a group.
        await group.__aexit__(None, None, None)

    async def call(self, plugin_id: str, what: str, **given: Any) -> Any:
        """Have a plugin do something.

        Raises: PluginError with the plugin's own answer; PluginFailed if it did not do it; NotFound.
        """
        self.refresh()
        hosted = self._hosted.get(plugin_id)
        if hosted is None:
            raise NotFound("plugin-not-found", f"No plugin '{plugin_id}' may be used", hint="Run: weft plugins list")
        if self._is_left_alone(hosted):
            message = f"The plugin '{plugin_id}' failed {hosted.failures} times in a row and is left alone"
            raise PluginFailed(message, code="plugin-left-alone", hint="Start weft anew to try it again")
        running: Running | None = None
        begun = anyio.current_time()
        try:
            running = await self._come_alive(hosted)
            result = await running.call(what, given)
        except ClawftError as error:
            is_answer = isinstance(error, PluginError) and not isinstance(error, PluginFailed) and running is not None
            if is_answer or anyio.current_time() - begun > _LONG_S:
                hosted.failures = 0
            if is_answer:
                raise
            is_channel = what == "start_channel" and running is not None and running.alive
            raise self._note_failure(hosted, running, error, counts=not is_channel) from error
        if what == "start_channel" and running is hosted.closed:
            raise self._describe_end(hosted.standing)
        hosted.failures = 0
        return result

    async def health(self, plugin_id: str) -> Health:
        """How a plugin is, without starting it."""
        hosted = self._hosted.get(plugin_id)
        if hosted is not None and self._is_left_alone(hosted):
            return "left alone"
        return await hosted.running.health() if hosted and hosted.running else "stopped"

    def refresh(self) -> None:
        """Go by what the user decided meanwhile: what was taken back ends, and what was changed is started anew."""
        try:
            decided = self._latest.look() if self._latest else None
        except ClawftError:  # whoever reads the config next tells that it is damaged; until then it stays as it is
            decided = None
        if decided is None:
            return
        known, before = self._hosted, self.settings
        standings, self.settings = decided
        self.standings = tuple(standings)
        self._hosted = {one.id: known.get(one.id) or _Hosted(one) for one in _find_ready(standings)}
        for one in _find_ready(standings):
            hosted, entry = self._hosted[one.id], entry_of_plugin(one.found, self.settings)
            if (one.grant, entry) != (hosted.standing.grant, entry_of_plugin(hosted.standing.found, before)):
                hosted.stale = True
                hosted.failures = 0
            hosted.standing = one
        for hosted in known.values():
            if hosted.standing.id not in self._hosted:
                hosted.stale = True
                if hosted.running is not None:
                    message = "It may not be used any more, so it was ended"
                    self._notes.announce(hosted.standing, "plugin-revoked", message)
            if hosted.stale and hosted.running is not None and self._group is not None:
                self._group.start_soon(self._end_stale, hosted)
        self.changes += 1

    def _is_left_alone(self, hosted: _Hosted) -> bool:
        return hosted.failures >= self.settings.max_failures and not self.is_patient

    def check(self) -> list[Diagnostic]:
        """What went wrong since this was last asked: each thing once."""
        return self._notes.take()

    def on_inbound(self, plugin_id: str, channel: str, handler: Inbound) -> None:
        """Who takes what a channel receives, from now on."""
        self._inbound[plugin_id, channel] = handler

    async def _come_alive(self, hosted: _Hosted) -> Running:
        """What runs of a plugin; started, if nothing does. Raises: ClawftError."""
        if hosted.running is not None and hosted.running.alive and not hosted.stale:
            return hosted.running
        async with hosted.lock:
            if hosted.stale or (hosted.running is not None and not hosted.running.alive):
                await self._close(hosted)
            if hosted.running is None:
                self._watch_for_changes()
                running = self._make(hosted.standing)
                await running.start()
                hosted.running = running
                self._order.append(hosted)
            return hosted.running

    async def _end_stale(self, hosted: _Hosted) -> None:
        async with hosted.lock:
            if hosted.stale:
                await self._close(hosted)

    def _watch_for_changes(self) -> None:
        """A channel runs for long without anybody calling it, so somebody has to look."""

        async def watch() -> None:
            while True:
                await anyio.sleep(_LOOK_S)
                self.refresh()

        if self._latest is not None and self._group is not None and not self._is_watched:
            self._is_watched = True
            self._group.start_soon(watch)

    def _make(self, standing: PluginStanding) -> Running:
        """Raises: ClawftError."""
        manifest, grant = standing.found.manifest, standing.grant
        assert manifest is not None
        assert grant is not None
        if self._group is None:
            raise PluginFailed("The host of plugins is not open", code="plugin-start")
        if manifest.wasm_module:
            return self._make_component(standing)
        from clawft.plugins.job import make_job
        from clawft.plugins.process import PythonProcess  # most runtimes have no plugin

        job = make_job(standing, self.settings, self.around)
        self._notes.start(standing, self.settings, (job.config, job.env))
        if self.around.sandbox.settings.mode == "off":
            message = "It runs WITHOUT a sandbox, with all your rights: sandbox.mode is 'off'"
            self._notes.announce(standing, "plugin-bare", message, "See: weft help security")
        return PythonProcess(job, self.around, self._group, lambda channel: self._inbound.get((standing.id, channel)))

    def _make_component(self, standing: PluginStanding) -> Running:
        """Raises: ClawftError."""
        from clawft.plugins.component import Component
        from clawft.plugins.wasm.job import make_wasm_job

        job = make_wasm_job(standing, self.settings, self.around)
        self._notes.start(standing, self.settings, (job.config, job.env))
        return Component(job, self.settings, self.around)

    async def _close(self, hosted: _Hosted) -> None:
        running, hosted.running = hosted.running, None
        hosted.stale = False
        if hosted in self._order:
            self._order.remove(hosted)
        if running is None:
            return
        hosted.closed = running if running.alive else None
        try:
            await running.close()
        except ClawftError as error:
            self._notes.fail(hosted.standing, error)

    def _note_failure(
        self, hosted: _Hosted, running: Running | None, error: ClawftError, *, counts: bool = True
    ) -> PluginFailed:
        """Count it, tell of it, and name the plugin. What ends several calls at once is one failure.

        That a channel loses its connection does not count: it is started again, however often that happens.
        """
        ended = running is not None and not running.alive
        if ended and running is hosted.closed:
            return self._describe_end(hosted.standing)
        if counts and not (ended and hosted.counted is running):
            hosted.failures += 1
        hosted.counted = running if ended else None
        standing = hosted.standing
        self._notes.fail(standing, error)
        if self._is_left_alone(hosted):
            why = PluginFailed(
                f"It failed {hosted.failures} times in a row and is left alone until weft is started anew",
                code="plugin-left-alone",
            )
            self._notes.fail(standing, why)
            if hosted.running is not None and self._group is not None:
                hosted.stale = True
                self._group.start_soon(self._end_stale, hosted)
        return PluginFailed(f"The plugin '{standing.id}': {error}", code=error.code, hint=error.hint)

    def _describe_end(self, standing: PluginStanding) -> PluginFailed:
        """Why a plugin was ended on purpose in the middle of a call."""
        if self._group is None:
            return PluginFailed(f"The plugin '{standing.id}' was ended, as all is", code="plugin-ended")
        return PluginFailed(f"The plugin '{standing.id}' was ended: what it may do was changed", code="plugin-revoked")


def _find_ready(standings: Sequence[PluginStanding]) -> list[PluginStanding]:
    return [one for one in standings if one.state == "ready" and one.found.manifest is not None]
