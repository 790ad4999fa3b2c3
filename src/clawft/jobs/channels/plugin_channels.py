"""Channels that plugins bring: the configured ones, each as an adapter for the gateway."""

from collections.abc import Sequence
from typing import Any

import anyio
from msgspec import Struct, convert, to_builtins

from clawft.config.jobs import GatewaySettings
from clawft.contracts import (
    Cancel,
    ChannelCapabilities,
    ChannelHost,
    MessagePayload,
    OutboundMessage,
    PluginError,
)
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.jobs.channels.admission import RESERVED
from clawft.plugins.host import Plugins
from clawft.trust.plugins import PluginStatus

_SOON_S = 0.05  # between looks at a channel that is about to connect
_LATER_S = 2.0  # and at one that has


class ConfiguredChannel(Struct, frozen=True):
    """A channel that the settings ask for; `problem` says why it is not run."""

    name: str
    plugin: str = ""
    problem: Diagnostic | None = None


def choose_channels(settings: GatewaySettings, statuses: Sequence[PluginStatus]) -> tuple[ConfiguredChannel, ...]:
    """Every channel that the settings name, with the plugin that brings it. Raises: ClawftError for none at all."""
    wanted = [name for name, channel in settings.channels.items() if channel.enabled]
    if not wanted:
        message = "No channel is configured, so there is nothing to run"
        hint = "Add one: see weft help gateway"
        raise ClawftError("gateway-no-channel", message, hint=hint)
    return tuple(_choose(name, statuses) for name in wanted)


def _choose(name: str, statuses: Sequence[PluginStatus]) -> ConfiguredChannel:
    bringing = [status for status in statuses if status.found.manifest and name in status.found.manifest.channels]
    known = {channel for status in statuses if status.found.manifest for channel in status.found.manifest.channels}
    if name in RESERVED:
        return ConfiguredChannel(
            name, "", _say(f"No channel may be called '{name}': sessions of another kind are named so")
        )
    if not bringing:
        close = find_close(name, known)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft plugins list"
        return ConfiguredChannel(name, "", _say(f"No plugin brings a channel '{name}'", hint))
    ready = next((plugin for plugin in bringing if plugin.state == "ready"), None)
    if ready is not None:
        return ConfiguredChannel(name, ready.id)
    first = next((plugin for plugin in bringing if plugin.state != "shadowed"), bringing[0])
    why = first.reasons[0] if first.reasons else None
    message = f"The plugin '{first.id}' is {first.state}" + (f": {why.message}" if why else "")
    hint = (why.hint if why else "") or f"Run: weft plugins enable {first.id}"
    return ConfiguredChannel(name, first.id, _say(message, hint))


def _say(message: str, hint: str = "") -> Diagnostic:
    return Diagnostic("gateway-channel", "warning", message, "", 0, hint)


class PluginChannel:
    """A channel of a plugin, which runs in the plugin's own process."""

    def __init__(self, name: str, plugin: str, plugins: Plugins) -> None:
        self.name = name
        self.plugin = plugin
        self.deduplicates = False
        self._plugins = plugins
        self._capabilities = ChannelCapabilities()
        self._is_running = False

    def capabilities(self) -> ChannelCapabilities:
        return self._capabilities

    def is_running(self) -> bool:
        return self._is_running

    async def start(self, host: ChannelHost, cancel: Cancel) -> None:
        """Lasts as long as the channel does. Raises: PluginError."""
        self._plugins.on_inbound(self.plugin, self.name, host)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch)
                group.start_soon(self._stop_when, cancel)
                try:
                    await self._call("start_channel")
                finally:
                    group.cancel_scope.cancel()
        except ExceptionGroup as errors:
            raise _first(errors) from errors
        finally:
            self._is_running = False

    async def _watch(self) -> None:
        """Look whether it is connected: it is asked to send only then."""
        while True:
            await anyio.sleep(_LATER_S if self._is_running else _SOON_S)
            if await self._plugins.health(self.plugin) == "stopped":  # it is being started, or was ended
                self._is_running = False
                continue
            try:
                seen: dict[str, Any] = await self._call("describe_channel")
            except PluginError:  # its start tells more of it
                self._is_running = False
            else:
                self.deduplicates = bool(seen["deduplicates"])
                self._capabilities = convert(seen["capabilities"], ChannelCapabilities)
                self._is_running = bool(seen["running"])

    async def _stop_when(self, cancel: Cancel) -> None:
        await cancel.wait()
        await self._call("stop_channel")

    async def send(self, message: OutboundMessage) -> None:
        await self._call("send", message=to_builtins(message))

    async def send_payload(self, conversation: str, payload: MessagePayload) -> None:
        await self._call("send_payload", conversation=conversation, payload=to_builtins(payload))

    async def _call(self, what: str, **arguments: Any) -> Any:
        return await self._plugins.call(self.plugin, what, channel=self.name, **arguments)


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    one = errors.exceptions[0]
    return _first(one) if isinstance(one, BaseExceptionGroup) else one
