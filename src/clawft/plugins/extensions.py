"""The tools, memories and stages of plugins, as extensions of a turn."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Annotated, Any

import msgspec
from anyio import from_thread
from msgspec import Meta

from clawft.agent.extension import Extension, find_memories
from clawft.agent.mcp.remote import clean_text
from clawft.agent.memory.files import MAX_KEY_CHARS, MAX_VALUE_BYTES, check_key, check_metadata, check_text
from clawft.agent.tools.tool import ErrorCode, Tool, ToolContext, ToolError, ToolResult
from clawft.contracts import MemoryBackend, MemoryResult, Metadata, PluginError, ToolOutput
from clawft.errors import ClawftError
from clawft.plugins.host import Plugins
from clawft.plugins.notices import make_plugin_notices
from clawft.plugins.runtime import PluginFailed
from clawft.plugins.stages import PluginCaller, plugin_stages
from clawft.skills.parse.plugin import PluginToolSpec
from clawft.skills.parse.schema import check_arguments
from clawft.trust.plugins import PluginStatus, get_plugin_entry

MAX_KEYS = 100_000
_Key = Annotated[str, Meta(min_length=1, max_length=MAX_KEY_CHARS)]
_Value = Annotated[str, Meta(max_length=MAX_VALUE_BYTES)]


class PluginMemory:
    """A memory whose plugin is asked. Whatever fails is an error: nothing is kept, or looked for, elsewhere."""

    def __init__(self, plugins: PluginCaller, plugin: str, name: str) -> None:
        self.name = name
        self._plugins = plugins
        self._plugin = plugin

    def store(self, key: str, value: str, metadata: Metadata | None = None) -> None:
        """Keep a value; one that was there is replaced. Raises: ClawftError."""
        parameters = {"key": check_key(key), "value": check_text(value), "metadata": check_metadata(metadata)}
        self._ask("store", parameters, None)

    def append(self, key: str, value: str) -> None:
        """Add a paragraph to a value, or begin one. Raises: ClawftError."""
        self._ask("append", {"key": check_key(key), "value": check_text(value)}, None)

    def retrieve(self, key: str) -> str | None:
        """The value of exactly this key. Raises: ClawftError."""
        found: str | None = self._ask("retrieve", {"key": key.strip()}, _Value | None)
        return found

    def search(self, query: str, limit: int) -> Sequence[MemoryResult]:
        """Search the memory for a query, best result first. Raises: ClawftError."""
        if limit < 1:
            return ()
        found: list[MemoryResult] = self._ask("search", {"query": query, "limit": limit}, list[MemoryResult])
        for result in found:
            if not isfinite(result.score) or not 0 <= result.score <= 1:
                raise self._refuse("search", f"a score is {result.score}, which is not from 0 to 1")
            if not result.key or len(result.key) > MAX_KEY_CHARS or len(result.value) > MAX_VALUE_BYTES:
                raise self._refuse("search", "a key or a text is too long")
        return tuple(sorted(found, key=lambda one: -one.score)[:limit])

    def delete(self, key: str) -> bool:
        """Forget a key; whether there was one. Raises: ClawftError."""
        was_there: bool = self._ask("delete", {"key": key.strip()}, bool)
        return was_there

    def list_keys(self, prefix: str = "") -> Sequence[str]:
        """Every key that begins with `prefix`, in the order of the plugin. Raises: ClawftError."""
        keys: list[str] = self._ask("list_keys", {"prefix": prefix}, Annotated[list[_Key], Meta(max_length=MAX_KEYS)])
        return tuple(key for key in keys if key.startswith(prefix))

    def _ask(self, verb: str, arguments: dict[str, Any], result: Any) -> Any:
        call = partial(self._plugins.call, backend=self.name, verb=verb, arguments=arguments)
        try:
            answer = from_thread.run(call, self._plugin, "memory")
        except PluginFailed as error:
            raise ClawftError("memory-failed", f"The memory '{self.name}' failed: {error}", hint=error.hint) from error
        except PluginError as error:
            raise ClawftError("memory-refused", f"The memory '{self.name}': {error}", hint=error.hint) from error
        if result is None:
            return None
        try:
            return msgspec.convert(answer, result)
        except msgspec.ValidationError as error:
            raise self._refuse(verb, str(error)) from error

    def _refuse(self, verb: str, problem: str) -> ClawftError:
        message = f"What the memory '{self.name}' gave for '{verb}' cannot be used: {problem}"
        return ClawftError("memory-result", message, hint=f"Run: weft plugins show {self._plugin}")


class ChosenMemory:
    """The memory that the user chose by its name, wherever it comes from at the time; never another in its place."""

    def __init__(self, name: str, find: Callable[[], Sequence[Extension]]) -> None:
        self.name = name
        self._find = find

    def store(self, key: str, value: str, metadata: Metadata | None = None) -> None:
        """As the memory does it. Raises: ClawftError."""
        self._get().store(key, value, metadata)

    def append(self, key: str, value: str) -> None:
        """As the memory does it. Raises: ClawftError."""
        self._get().append(key, value)

    def retrieve(self, key: str) -> str | None:
        """As the memory does it. Raises: ClawftError."""
        return self._get().retrieve(key)

    def search(self, query: str, limit: int) -> Sequence[MemoryResult]:
        """As the memory does it. Raises: ClawftError."""
        return self._get().search(query, limit)

    def delete(self, key: str) -> bool:
        """As the memory does it. Raises: ClawftError."""
        return self._get().delete(key)

    def list_keys(self, prefix: str = "") -> Sequence[str]:
        """As the memory does it. Raises: ClawftError."""
        return self._get().list_keys(prefix)

    def _get(self) -> MemoryBackend:
        """Raises: ClawftError where nobody brings it, or several do."""
        found = find_memories(self._find(), self.name)
        if len(found) == 1:
            return found[0]
        if found:
            message = f"{len(found)} plugins bring a memory '{self.name}'"
            raise ClawftError("memory-missing", message, hint="Set memory.backend to ID:NAME, see: weft plugins list")
        message = f"memory.backend is '{self.name}', which no plugin brings that may be used"
        raise ClawftError("memory-missing", message, hint="Run: weft plugins list")


_MAX_ASKED = 500  # characters of arguments that a question shows
_MARGIN_S = 5.0  # the host itself ends what takes too long, and says more of it
_CODES: dict[str, ErrorCode] = {"plugin-timeout": "TIMEOUT", "plugin-changed": "PERMISSION_DENIED"}
_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


def plugin_tools(plugins: Plugins, status: PluginStatus) -> tuple[Tool, ...]:
    """One tool of ours for each that a plugin declares."""
    manifest = status.found.manifest
    return tuple(_make_tool(plugins, status, spec) for spec in manifest.tools) if manifest else ()


def _make_tool(plugins: Plugins, status: PluginStatus, spec: PluginToolSpec) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        values = dict(arguments)
        if problem := check_arguments(values, parameters):
            raise ToolError("INVALID_PARAM", problem)
        if not spec.read_only or context.permission.must_ask:
            await _ask(status.id, spec, values, context)
        await context.act.begin()
        return await _call(plugins, status.id, spec, values)

    parameters = {"type": "object", **spec.parameters} if spec.parameters else _NO_ARGUMENTS
    settings = plugins.settings
    call_s = get_plugin_entry(status.found, settings).call_timeout_s or settings.call_timeout_s
    if status.found.manifest is not None and status.found.manifest.wasm_module:
        call_s = max(call_s, settings.wasm.timeout_s or 0)
    return Tool(
        spec.name,
        clean_text(spec.description),
        run,
        parameters,
        read_only=spec.read_only,
        timeout_s=call_s + settings.init_timeout_s + _MARGIN_S,
        asks=True,
        repeatable=lambda _: spec.read_only or spec.repeatable,
        plugin=status.id,
    )


async def _ask(plugin_id: str, spec: PluginToolSpec, arguments: Mapping[str, Any], context: ToolContext) -> None:
    shown = json.dumps(arguments, ensure_ascii=False, default=repr)
    cut = shown if len(shown) <= _MAX_ASKED else f"{shown[:_MAX_ASKED]}… ({len(shown)} characters)"
    why = f"Asked by {context.permission.must_ask}" if context.permission.must_ask else "It may change something"
    name = context.tool or spec.name  # where that is another's, it goes by a longer one
    if not await context.ask(f"Let the plugin '{plugin_id}' run {name}?", f"{why}. Arguments: {cut}"):
        hint = f"To run it without being asked: weft permissions allow {name}"
        raise ToolError("PERMISSION_DENIED", f"{name} was not allowed to run", hint=hint)


async def _call(plugins: Plugins, plugin_id: str, spec: PluginToolSpec, arguments: dict[str, Any]) -> ToolResult:
    try:
        output: ToolOutput = await plugins.call(plugin_id, "execute_tool", name=spec.name, arguments=arguments)
    except PluginFailed as error:
        raise ToolError(_CODES.get(error.code, "EXECUTION_ERROR"), str(error), hint=error.hint) from error
    except PluginError as error:
        raise ToolError("EXECUTION_ERROR", str(error), hint=error.hint) from error
    return ToolResult(clean_text(output.content), "error" if output.is_error else "success")


def plugin_extensions(plugins: Plugins) -> tuple[Extension, ...]:
    """One for each plugin that may be used, in order of precedence, and one that tells what goes wrong with them."""
    if not plugins.statuses:
        return ()
    brought = [
        Extension(
            name=plugin.id,
            tools=plugin_tools(plugins, plugin),
            stages=plugin_stages(plugins, plugin),
            memories=tuple(PluginMemory(plugins, plugin.id, name) for name in plugin.found.manifest.memory),
            is_plugin=True,
        )
        for plugin in plugins.ready
        if plugin.found.manifest is not None and plugin.found.manifest.has_code
    ]
    return (Extension(name="plugins", stages=make_plugin_notices(plugins)), *brought)
