"""The plugin inside its process: load its class, check its parts against the manifest, call them, and give them their
view of the host."""

import asyncio
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from socket import create_connection, socket
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import convert, to_builtins

from clawft.contracts import (
    ChannelAdapter,
    ChannelCapabilities,
    InboundMessage,
    Level,
    MemoryBackend,
    MessagePayload,
    OutboundMessage,
    PipelineContext,
    PipelineStage,
    Plugin,
    PluginError,
    SkillProvider,
    ToolOutput,
    ToolProvider,
    Unsupported,
)
from clawft.plugins.guest.wire import DeclaredParts, PluginStart, Rule


def load_class(start: PluginStart) -> type[Plugin]:
    """The plugin's class. Raises: PluginError, and whatever its module raises."""
    if start.package:
        _place_package(start.package, start.folder)
    else:
        sys.path.insert(0, start.folder)
    module = importlib.import_module(start.module)
    found = getattr(module, start.name, None)
    if found is None:
        file = os.path.basename(module.__file__ or start.module)
        hint = "Its manifest names another one as python: MODULE:CLASS"
        raise PluginError(f"{file} has no class {start.name}", code="plugin-parts", hint=hint)
    if not isinstance(found, type) or not issubclass(found, Plugin):
        message = f"{start.module}:{start.name} is no class that is derived from clawft.contracts.Plugin"
        raise PluginError(message, code="plugin-parts")
    return found


def _place_package(package: str, folder: str) -> None:
    """Put the approved copy of an installed package in the place of the installed one."""
    parent, _, last = package.rpartition(".")
    above = importlib.import_module(parent) if parent else None
    init = os.path.join(folder, "__init__.py")
    if os.path.exists(init):
        spec = importlib.util.spec_from_file_location(package, init, submodule_search_locations=[folder])
    else:
        spec = importlib.util.spec_from_loader(package, None, is_package=True)
        if spec is not None:
            spec.submodule_search_locations = [folder]
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    if above is not None:
        setattr(above, last, module)
    if spec.loader is not None:
        spec.loader.exec_module(module)


class PluginParts:
    """The parts of a plugin that its manifest declares, by name."""

    def __init__(self, parts: Iterable[object], declared: DeclaredParts) -> None:
        """Raises: PluginError with code `plugin-parts` where something declared is missing."""
        self.tools: ToolProvider | None = None
        self.skills: dict[str, SkillProvider] = {}
        self.channels: dict[str, ChannelAdapter] = {}
        self.stages: dict[str, PipelineStage[Any]] = {}
        self.memory: dict[str, MemoryBackend] = {}
        for part in parts:
            self._take(part, declared)
        self._check(declared)

    def _take(self, part: Any, declared: DeclaredParts) -> None:
        """One part may be several things; what it is called by tells which."""
        if isinstance(part, SkillProvider):
            self.skills.setdefault(part.metadata.name, part)
        elif self.tools is None and isinstance(part, ToolProvider):
            self.tools = part
        name = getattr(part, "name", None)
        if not isinstance(name, str):
            return
        if name in declared.channels and all(hasattr(part, each) for each in ("start", "send")):
            self.channels.setdefault(name, part)
        if name in dict(declared.stages) and isinstance(part, PipelineStage):
            self.stages.setdefault(name, part)
        if name in declared.memory and isinstance(part, MemoryBackend):
            self.memory.setdefault(name, part)

    def _check(self, declared: DeclaredParts) -> None:
        self.tools = self.tools or next(iter(self.skills.values()), None)  # a skill that is all it has may do both
        missing = [f"a part with execute_tool for the tool '{name}'" for name in declared.tools if self.tools is None]
        for kind, names, known in (
            ("channel", declared.channels, self.channels),
            ("stage", tuple(dict(declared.stages)), self.stages),
            ("memory", declared.memory, self.memory),
        ):
            missing += [f"the {kind} '{name}'" for name in names if name not in known]
        if missing:
            hint = "Give it in parts(), with this name and every method of its contract"
            raise PluginError(
                f"Its manifest declares what its code lacks: {missing[0]}", code="plugin-parts", hint=hint
            )
        for name, phase in declared.stages:
            actual = str(getattr(self.stages[name].phase, "value", self.stages[name].phase))
            if actual != phase:
                message = f"Its manifest puts the stage '{name}' at {phase}, its code at {actual}"
                raise PluginError(message, code="plugin-parts")


_LEVELS = ("trace", "debug", "info", "warn", "error")
_MAX_HEAD = 16 * 1024
_MAX_LOGGED = 8 * 1024
Asking = Callable[[str, str, Any], Awaitable[Any]]


class GuestHost:
    """A PluginHost."""

    def __init__(self, start: PluginStart, tell: Callable[[Rule, str], None]) -> None:
        """`tell` has the host write down what is refused here, by its rule."""
        self._id = start.id
        self._tell = tell
        self._config = start.config
        self._data_dir = start.data_dir
        self._secrets = {name: os.environ[name] for name in start.env if name in os.environ}
        self._network = start.network
        self._proxy = urlsplit(os.environ.get("HTTPS_PROXY", "")) if start.network else urlsplit("")

    def config_value(self, key: str) -> Any:
        found: Any = self._config
        if key in self._config:
            return deepcopy(self._config[key])
        for part in key.split("."):
            if not isinstance(found, dict) or part not in found:
                return None
            found = found[part]
        return deepcopy(found)

    def resolve_secret(self, env_var: str) -> str | None:
        return self._secrets.get(env_var)

    def data_dir(self) -> str:
        return self._data_dir

    def log(self, level: Level, message: str) -> None:
        shown = level if level in _LEVELS else "info"
        for line in str(message)[:_MAX_LOGGED].splitlines() or [""]:
            sys.stderr.write(f"{shown}: {line}\n")
        sys.stderr.flush()

    def connect(self, host: str, port: int, timeout_s: float = 30.0) -> socket:
        """Raises: PluginError."""
        name = f"[{host}]" if ":" in host else host
        if not f"{name}:{port}".isprintable() or " " in name:
            raise PluginError(f"{host!a} is no host", code="host-refused")
        if not self._network:
            self._tell("no-host", f"{name}:{port}")
            message = f"{name}:{port} cannot be reached: no host was granted"
            raise PluginError(message, code="host-refused", hint=self._grant_hint(f"{name}:{port}"))
        if not self._proxy.hostname:
            return self._connect_bare(host, port, timeout_s)
        try:
            connection = create_connection((self._proxy.hostname, self._proxy.port or 80), timeout_s)
            try:
                connection.sendall(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode())
                _read_reply(connection, f"{host}:{port}")
            except BaseException:
                connection.close()
                raise
        except (OSError, UnicodeError) as error:
            raise PluginError(f"{host}:{port} cannot be reached: {error}", code="host-unreachable") from error
        return connection

    def _connect_bare(self, host: str, port: int, timeout_s: float) -> socket:
        """Without a sandbox there is no proxy: the names of hosts are all that can be judged."""
        from clawft.trust.network import find_grant

        if find_grant(host.lower(), port, self._network) is None:
            message = f"{host}:{port} is not among the granted hosts"
            raise PluginError(message, code="host-refused", hint=self._grant_hint(f"{host}:{port}"))
        try:
            return create_connection((host, port), timeout_s)
        except (OSError, UnicodeError) as error:
            raise PluginError(f"{host}:{port} cannot be reached: {error}", code="host-unreachable") from error

    def _grant_hint(self, place: str) -> str:
        return f"If its manifest asks for it: weft plugins grant {self._id} --network {place}"


def _read_reply(connection: socket, asked: str) -> None:
    """The proxy's answer, to its very end: what follows is the other side's. Raises: PluginError, OSError."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < _MAX_HEAD:
        byte = connection.recv(1)
        if not byte:
            raise PluginError(f"{asked} cannot be reached: the proxy gave no answer", code="host-unreachable")
        head += byte
    words = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if len(words) < 2 or words[1] != b"200":
        reply = b""
        while len(reply) < _MAX_HEAD and (chunk := connection.recv(4096)):
            reply += chunk
        refused = words[1:2] == [b"403"]
        reason, _, hint = reply.decode("utf-8", "replace").removeprefix("clawft: ").partition("\nhint: ")
        text = _join(reason) or f"{asked} cannot be reached"
        raise PluginError(text, code="host-refused" if refused else "host-unreachable", hint=_join(hint))


def _join(text: str) -> str:
    """In one line."""
    return " ".join(text.split())[:1000]


class GuestChannelHost:
    """A ChannelHost: it hands in what one channel receives."""

    def __init__(self, channel: str, config: Mapping[str, Any], ask: Asking) -> None:
        self._channel = channel
        self._config = config
        self._ask = ask

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        return bool(await self._ask("deliver_inbound", self._channel, to_builtins(message)))

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        parameters = {"sender": sender, "conversation": conversation, "payload": to_builtins(payload)}
        return bool(await self._ask("deliver_payload", self._channel, parameters))

    @property
    def config(self) -> Mapping[str, Any]:
        return deepcopy(dict(self._config))


_NO_RESULT = "(no result)"
_RAW = (bytes, bytearray, memoryview)  # a plugin that returns these forgot to decode a text
_VERBS = ("store", "append", "retrieve", "search", "delete", "list_keys")
_STOP_S = 5.0  # for a channel to end by itself once it is stopped
_STOP_ALL_S = 2.0  # the same at the end, which has little time


class PartCalls:
    """Does what the host orders, with the parts of a plugin. `run` calls a method where it belongs."""

    def __init__(
        self,
        plugin: Plugin,
        parts: PluginParts,
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

    async def do(self, what: str, parameters: Mapping[str, Any]) -> Any:
        """Raises: PluginError, and whatever the plugin raises."""
        order = self._orders.get(what)
        if order is None:
            raise PluginError(f"No plugin is asked for '{what}'")
        return await order(**parameters)

    async def _execute_tool(self, name: str, arguments: dict[str, Any], skill: str = "") -> Any:
        """A tool of the plugin, or of one of its skills."""
        part = self._parts.skills.get(skill) if skill else self._parts.tools
        if part is None:
            message = f"Nothing does the tool '{name}'" + (f" of the skill '{skill}'" if skill else "")
            raise PluginError(message, code="plugin-parts", hint="Give a part whose metadata.name is the skill's")
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
        message = convert(payload, MessagePayload)
        if not hasattr(adapter, "send_payload"):
            raise Unsupported(f"The channel '{channel}' sends nothing but text")
        await self._run(adapter.send_payload, conversation, message)

    async def _is_healthy(self) -> bool:
        return bool(await self._run(self._plugin.is_healthy))


def _put(result: Any, name: str) -> ToolOutput:
    """Convert a tool's result to what the model reads. Raises: PluginError for what is neither text nor JSON."""
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
