"""The plugin host: start each plugin at its first call, call it, contain its failures, write the audit log and shut
all down."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import TaskGroup

from clawft.config.extensions import PluginsSettings
from clawft.contracts import PluginError, ToolOutput
from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.plugins.runtime import (
    Health,
    InboundReceiver,
    PluginEnvironment,
    PluginFailed,
    PluginInstance,
    PluginLog,
    log_path,
)
from clawft.plugins.settings import record_secrets
from clawft.sandbox.child import close_tasks
from clawft.trust.plugins import PluginStatus, get_plugin_entry

Decided = tuple[Sequence[PluginStatus], PluginsSettings]


class PluginGrantWatch:
    """Looks again only where one of the files changed that decisions are kept in."""

    def __init__(self, paths: Sequence[str], load: Callable[[], Decided]) -> None:
        self._paths = tuple(paths)
        self._load = load
        self._stamp = self._take_stamp()

    def look(self) -> Decided | None:
        """Reload the decisions about plugins; None where nothing changed. Raises: ClawftError for a config that is
        damaged."""
        stamp = self._take_stamp()
        if stamp == self._stamp:
            return None
        decided = self._load()
        self._stamp = stamp
        return decided

    def _take_stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(map(_stamp, self._paths))


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class PluginAudit:
    """Lines of the audit log and of the plugins' own, and news for people: each thing once."""

    def __init__(self, around: PluginEnvironment) -> None:
        self._around = around
        self._news: list[Diagnostic] = []
        self._reported: set[tuple[str, str]] = set()

    def take(self) -> list[Diagnostic]:
        """The news since this was last asked."""
        news, self._news = self._news, []
        return news

    def start(
        self,
        status: PluginStatus,
        settings: PluginsSettings,
        settings_and_env: tuple[Mapping[str, Any], Mapping[str, str]],
    ) -> None:
        """Before a plugin is started with these settings and variables. Raises: Refused if it cannot be written."""
        grant = status.grant
        assert grant is not None
        granted = status.permissions
        named = {"filesystem": granted.filesystem, "network": granted.network, "env_vars": granted.env_vars}
        permissions = {**{name: list(value) for name, value in named.items() if value}, "shell": granted.shell}
        detail = {"version": grant.version, "place": grant.folder, "permissions": permissions}
        self._around.audit.write(
            "plugin", status.id, decision="allow", rule="granted", digest=grant.digest, detail=detail
        )
        record_secrets(status, settings, settings_and_env, self._around.secrets, self._around.audit)

    def fail(self, status: PluginStatus, error: ClawftError) -> None:
        """People hear of each kind of failure once, the logs of all."""
        digest = status.grant.digest if status.grant else ""
        detail = {"message": str(error)[:500]}
        self._around.audit.tell("plugin", status.id, decision="failed", rule=error.code, digest=digest, detail=detail)
        place = self._around.workspace
        path = log_path(place.user_dir, status.id)
        PluginLog(path, self._around.secrets.mask).say(f"{error.code}: {error}")
        self.announce(status, error.code, str(error), error.hint or f"See {place.shorten(path)}")

    def announce(self, status: PluginStatus, code: str, message: str, hint: str = "") -> None:
        """Tell people something of a plugin, if it is new."""
        if (status.id, code) not in self._reported:
            self._reported.add((status.id, code))
            text = f"The plugin '{status.id}': {message}"
            self._news.append(Diagnostic(code, "warning", text, status.found.file, 0, hint))


_LOOK_S = 2.0  # how soon it is noticed that a plugin may not be used any more
_LONG_S = 60.0  # what worked for so long, as a channel does, did not fail right after the failure before


class _Hosted:
    """One plugin, and what runs of it, if anything does."""

    def __init__(self, status: PluginStatus) -> None:
        self.plugin_status = status
        self.lock = anyio.Lock()
        self.running: PluginInstance | None = None
        self.failures = 0
        self.stale = False  # what runs was granted something else
        self.counted: PluginInstance | None = None  # that which ended with a failure that was counted
        self.closed: PluginInstance | None = None  # that which was last ended on purpose


class Plugins:
    """The plugins that may be used. Leaving it shuts down those that run, the last started first."""

    def __init__(
        self,
        statuses: Sequence[PluginStatus],
        settings: PluginsSettings,
        around: PluginEnvironment,
        latest: PluginGrantWatch | None = None,
    ) -> None:
        """`latest` tells what was decided since; without it, what is so now stays so."""
        self.statuses = tuple(statuses)
        self.settings = settings
        self.around = around
        self.is_patient = False  # the caller pauses by itself after failures, so no plugin is left alone
        self.changes = 0  # how often other plugins may be used than before
        self._latest = latest
        self._hosted = {plugin.id: _Hosted(plugin) for plugin in _find_ready(statuses)}
        self._is_watched = False
        self._order: list[_Hosted] = []  # as they were started
        self._inbound: dict[tuple[str, str], InboundReceiver] = {}
        self._group: TaskGroup | None = None
        self._notes = PluginAudit(around)

    @property
    def ready(self) -> tuple[PluginStatus, ...]:
        """Those that may be used, in order of precedence."""
        return tuple(hosted.plugin_status for hosted in self._hosted.values())

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
        await close_tasks(group)

    async def call(self, plugin_id: str, what: str, **arguments: Any) -> Any:
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
        running: PluginInstance | None = None
        begun = anyio.current_time()
        try:
            running = await self._come_alive(hosted)
            result = await running.call(what, arguments)
        except ClawftError as error:
            is_answer = isinstance(error, PluginError) and not isinstance(error, PluginFailed) and running is not None
            if is_answer or anyio.current_time() - begun > _LONG_S:
                hosted.failures = 0
            if is_answer:
                raise
            is_channel = what == "start_channel" and running is not None and running.alive
            raise self._note_failure(hosted, running, error, counts=not is_channel) from error
        if what == "start_channel" and running is hosted.closed:
            raise self._describe_end(hosted.plugin_status)
        hosted.failures = 0
        return result

    async def health(self, plugin_id: str) -> Health:
        """Return the health of a plugin, without starting it."""
        hosted = self._hosted.get(plugin_id)
        if hosted is not None and self._is_left_alone(hosted):
            return "left alone"
        return await hosted.running.health() if hosted and hosted.running else "stopped"

    def refresh(self) -> None:
        """Go by what the user decided meanwhile: what was taken back ends, and what was changed is started anew."""
        try:
            decided = self._latest.look() if self._latest else None
        except ClawftError:  # the next reader of the config reports that it is damaged; until then it stays as it is
            decided = None
        if decided is None:
            return
        known, before = self._hosted, self.settings
        statuses, self.settings = decided
        self.statuses = tuple(statuses)
        self._hosted = {plugin.id: known.get(plugin.id) or _Hosted(plugin) for plugin in _find_ready(statuses)}
        for plugin in _find_ready(statuses):
            hosted, entry = self._hosted[plugin.id], get_plugin_entry(plugin.found, self.settings)
            if (plugin.grant, entry) != (
                hosted.plugin_status.grant,
                get_plugin_entry(hosted.plugin_status.found, before),
            ):
                hosted.stale = True
                hosted.failures = 0
            hosted.plugin_status = plugin
        for hosted in known.values():
            if hosted.plugin_status.id not in self._hosted:
                hosted.stale = True
                if hosted.running is not None:
                    message = "It may not be used any more, so it was ended"
                    self._notes.announce(hosted.plugin_status, "plugin-revoked", message)
            if hosted.stale and hosted.running is not None and self._group is not None:
                self._group.start_soon(self._end_stale, hosted)
        self.changes += 1

    def _is_left_alone(self, hosted: _Hosted) -> bool:
        return hosted.failures >= self.settings.max_failures and not self.is_patient

    def check(self) -> list[Diagnostic]:
        """Return the problems since the last call: each one once."""
        return self._notes.take()

    def on_inbound(self, plugin_id: str, channel: str, handler: InboundReceiver) -> None:
        """Set the receiver of a channel's messages."""
        self._inbound[plugin_id, channel] = handler

    async def _come_alive(self, hosted: _Hosted) -> PluginInstance:
        """Return the running instance of a plugin, starting it if there is none. Raises: ClawftError."""
        if hosted.running is not None and hosted.running.alive and not hosted.stale:
            return hosted.running
        async with hosted.lock:
            if hosted.stale or (hosted.running is not None and not hosted.running.alive):
                await self._close(hosted)
            if hosted.running is None:
                self._watch_for_changes()
                running = self._make(hosted.plugin_status)
                await running.start()
                hosted.running = running
                self._order.append(hosted)
            return hosted.running

    async def _end_stale(self, hosted: _Hosted) -> None:
        async with hosted.lock:
            if hosted.stale:
                await self._close(hosted)

    def _watch_for_changes(self) -> None:
        """Start a task that checks for changes, since a channel runs for a long time without a call that would
        check."""

        async def watch() -> None:
            while True:
                await anyio.sleep(_LOOK_S)
                self.refresh()

        if self._latest is not None and self._group is not None and not self._is_watched:
            self._is_watched = True
            self._group.start_soon(watch)

    def _make(self, status: PluginStatus) -> PluginInstance:
        """Raises: ClawftError."""
        manifest = status.found.manifest
        assert manifest is not None
        if self._group is None:
            raise PluginFailed("The host of plugins is not open", code="plugin-start")
        from clawft.plugins.launch import make_plugin_launch, make_python_program  # most runtimes have no plugin

        job = make_plugin_launch(status, self.settings, self.around)
        if manifest.wasm_module:
            from clawft.plugins.component import Component

            self._notes.start(status, self.settings, (job.config, job.env))
            return Component(job, self.settings, self.around)
        from clawft.plugins.process import PythonProcess

        program = make_python_program(job, self.settings, self.around)
        self._notes.start(status, self.settings, (job.config, job.env))
        if self.around.sandbox.settings.mode == "off":
            message = "It runs WITHOUT a sandbox, with all your rights: sandbox.mode is 'off'"
            self._notes.announce(status, "plugin-bare", message, "See: weft help security")
        return PythonProcess(program, self.around, self._group, lambda channel: self._inbound.get((status.id, channel)))

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
            self._notes.fail(hosted.plugin_status, error)

    def _note_failure(
        self, hosted: _Hosted, running: PluginInstance | None, error: ClawftError, *, counts: bool = True
    ) -> PluginFailed:
        """Count it, tell of it, and name the plugin. What ends several calls at once is one failure.

        That a channel loses its connection does not count: it is started again, however often that happens.
        """
        ended = running is not None and not running.alive
        if ended and running is hosted.closed:
            return self._describe_end(hosted.plugin_status)
        if counts and not (ended and hosted.counted is running):
            hosted.failures += 1
        hosted.counted = running if ended else None
        status = hosted.plugin_status
        self._notes.fail(status, error)
        if self._is_left_alone(hosted):
            why = PluginFailed(
                f"It failed {hosted.failures} times in a row and is left alone until weft is started anew",
                code="plugin-left-alone",
            )
            self._notes.fail(status, why)
            if hosted.running is not None and self._group is not None:
                hosted.stale = True
                self._group.start_soon(self._end_stale, hosted)
        return PluginFailed(f"The plugin '{status.id}': {error}", code=error.code, hint=error.hint)

    def _describe_end(self, status: PluginStatus) -> PluginFailed:
        """Return why weft ended a plugin in the middle of a call."""
        if self._group is None:
            return PluginFailed(f"The plugin '{status.id}' was ended, as all is", code="plugin-ended")
        return PluginFailed(f"The plugin '{status.id}' was ended: what it may do was changed", code="plugin-revoked")


def _find_ready(statuses: Sequence[PluginStatus]) -> list[PluginStatus]:
    return [status for status in statuses if status.state == "ready" and status.found.manifest is not None]


def native_plugins(plugins: Plugins) -> Collection[str]:
    """The plugins that can be asked for such tools: those that are ready and have code."""
    return frozenset(plugin.id for plugin in plugins.ready if plugin.found.manifest and plugin.found.manifest.has_code)


async def call_native(plugins: Plugins, plugin: str, skill: str, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
    """Have a plugin do a tool of one of its skills. A component knows its tools by their names alone.

    Raises: PluginError.
    """
    manifest = next((candidate.found.manifest for candidate in plugins.ready if candidate.id == plugin), None)
    of_skill = {} if manifest and manifest.wasm_module else {"skill": skill}
    output: ToolOutput = await plugins.call(plugin, "execute_tool", name=name, arguments=dict(arguments), **of_skill)
    return output
