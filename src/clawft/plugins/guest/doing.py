"""What is asked of a plugin, by the name that the host has for it: each is a call of one of its parts."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import convert

from clawft.contracts import (
    ChannelCapabilities,
    MessagePayload,
    OutboundMessage,
    PipelineContext,
    Plugin,
    PluginError,
    ToolOutput,
    Unsupported,
)
from clawft.plugins.guest.host import Asking, GuestChannelHost
from clawft.plugins.guest.loading import Parts

__all__ = ["Doing"]

_NO_RESULT = "(no result)"
_RAW = (bytes, bytearray, memoryview)  # whoever meant a text forgot to decode it
_VERBS = ("store", "append", "retrieve", "search", "delete", "list_keys")
_STOP_S = 5.0  # for a channel to end by itself once it is told to
_STOP_ALL_S = 2.0  # the same at the end, which has little time


class Doing:
    """Does what the host orders, with the parts of a plugin. `run` calls a method where it belongs."""

    def __init__(
        self,
        plugin: Plugin,
        parts: Parts,
        config: Mapping[str, Any],
        run: Callable[..., Awaitable[Any]],
        ask: Asking,
    ) -> None:
        self._plugin = plugin
        self._parts = parts
        self._config = config
        self._run = run
        self._ask = ask
        self._cancels: dict[str, asyncio.Event] = {}
        self._orders: dict[str, Callable[..., Awaitable[Any]]] = {
            "execute_tool": self._execute_tool,
            "process": self._process,
            "memory": self._memory,
            "start_channel": self._start_channel,
            "stop_channel": self._stop_channel,
            "describe_channel": self._describe_channel,
            "send": self._send,
            "send_payload": self._send_payload,
            "is_healthy": self._is_healthy,
        }

    async def do(self, what: str, given: Mapping[str, Any]) -> Any:
        """Raises: PluginError, and whatever the plugin raises."""
        order = self._orders.get(what)
        if order is None:
            raise PluginError(f"No plugin is asked for '{what}'")
        return await order(**given)

    async def _execute_tool(self, name: str, arguments: dict[str, Any], skill: str = "") -> Any:
        """A tool of the plugin, or of one of its skills."""
        part = self._parts.skills.get(skill) if skill else self._parts.tools
        if part is None:
            said = f"Nothing does the tool '{name}'" + (f" of the skill '{skill}'" if skill else "")
            raise PluginError(said, code="plugin-parts", hint="Give a part whose metadata.name is the skill's")
        result = await self._run(part.execute_tool, name, arguments)
        return _put(result, name)

    async def _process(self, stage: str, context: Any) -> PipelineContext:
        ready = convert(context, PipelineContext)
        await self._run(self._parts.stages[stage].process, ready)
        return ready

    async def _memory(self, backend: str, verb: str, arguments: dict[str, Any]) -> Any:
        if verb not in _VERBS:
            raise PluginError(f"No memory is asked for '{verb}'")
        return await self._run(getattr(self._parts.memory[backend], verb), **arguments)

    async def _start_channel(self, channel: str) -> None:
        """Lasts as long as the channel does; ended by `stop_channel`, or by being cancelled."""
        if channel in self._cancels:
            raise PluginError(f"The channel '{channel}' runs already")
        cancel = self._cancels[channel] = asyncio.Event()
        host = GuestChannelHost(channel, self._config, self._ask)
        running = asyncio.ensure_future(self._run(self._parts.channels[channel].start, host, cancel))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            cancel.set()
            await asyncio.wait([running], timeout=_STOP_S)
            running.cancel()
            raise
        finally:
            del self._cancels[channel]

    async def _stop_channel(self, channel: str) -> None:
        if channel in self._cancels:
            self._cancels[channel].set()

    async def stop_channels(self) -> None:
        """Have all channels end, before the plugin does."""
        for cancel in self._cancels.values():
            cancel.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_ALL_S):
                while self._cancels:
                    await asyncio.sleep(0.01)

    async def _describe_channel(self, channel: str) -> dict[str, Any]:
        adapter = self._parts.channels[channel]
        running, capabilities = getattr(adapter, "is_running", None), getattr(adapter, "capabilities", None)
        return {
            "running": channel in self._cancels and (running is None or bool(await self._run(running))),
            "capabilities": await self._run(capabilities) if capabilities else ChannelCapabilities(),
            "deduplicates": bool(getattr(adapter, "deduplicates", False)),
        }

    async def _send(self, channel: str, message: Any) -> None:
        await self._run(self._parts.channels[channel].send, convert(message, OutboundMessage))

    async def _send_payload(self, channel: str, conversation: str, payload: Any) -> None:
        adapter = self._parts.channels[channel]
        given = convert(payload, MessagePayload)
        if not hasattr(adapter, "send_payload"):
            raise Unsupported(f"The channel '{channel}' sends nothing but text")
        await self._run(adapter.send_payload, conversation, given)

    async def _is_healthy(self) -> bool:
        return bool(await self._run(self._plugin.is_healthy))


def _put(result: Any, name: str) -> ToolOutput:
    """What a tool gave, as the model reads it. Raises: PluginError for what is neither text nor JSON."""
    if isinstance(result, ToolOutput):
        return result
    if result is None or isinstance(result, str):
        return ToolOutput(_NO_RESULT if result is None else result)
    try:
        plain = msgspec.to_builtins(result, builtin_types=_RAW)
        return ToolOutput(json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"What it gave for the tool '{name}' is neither text nor JSON: {error}"
        raise PluginError(message, code="plugin-result", hint="Give a text, or what JSON can hold") from error
