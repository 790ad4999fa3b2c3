"""A memory that a plugin brings, as every memory is used: sync, from a thread. What it gives is checked."""

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Annotated, Any

import msgspec
from anyio import from_thread
from msgspec import Meta

from clawft.contracts import MemoryBackend, MemoryResult, Metadata, PluginError
from clawft.errors import ClawftError
from clawft.memory.limits import MAX_KEY_CHARS, MAX_VALUE_BYTES, check_key, check_metadata, check_text
from clawft.plugins.running import PluginFailed
from clawft.plugins.stages import Caller
from clawft.run.extension import Extension, find_memories
from clawft.trust.plugins import PluginStanding

__all__ = ["ChosenMemory", "PluginMemory", "plugin_memories"]

MAX_KEYS = 100_000
_Key = Annotated[str, Meta(min_length=1, max_length=MAX_KEY_CHARS)]
_Value = Annotated[str, Meta(max_length=MAX_VALUE_BYTES)]


class PluginMemory:
    """A memory whose plugin is asked. Whatever fails is an error: nothing is kept, or looked for, elsewhere."""

    def __init__(self, plugins: Caller, plugin: str, name: str) -> None:
        self.name = name
        self._plugins = plugins
        self._plugin = plugin

    def store(self, key: str, value: str, metadata: Metadata | None = None) -> None:
        """Keep a value; one that was there is replaced. Raises: ClawftError."""
        given = {"key": check_key(key), "value": check_text(value), "metadata": check_metadata(metadata)}
        self._ask("store", given, None)

    def append(self, key: str, value: str) -> None:
        """Add a paragraph to a value, or begin one. Raises: ClawftError."""
        self._ask("append", {"key": check_key(key), "value": check_text(value)}, None)

    def retrieve(self, key: str) -> str | None:
        """The value of exactly this key. Raises: ClawftError."""
        found: str | None = self._ask("retrieve", {"key": key.strip()}, _Value | None)
        return found

    def search(self, query: str, limit: int) -> Sequence[MemoryResult]:
        """What fits a query, best first. Raises: ClawftError."""
        if limit < 1:
            return ()
        found: list[MemoryResult] = self._ask("search", {"query": query, "limit": limit}, list[MemoryResult])
        for one in found:
            if not isfinite(one.score) or not 0 <= one.score <= 1:
                raise self._refuse("search", f"a score is {one.score}, which is not from 0 to 1")
            if not one.key or len(one.key) > MAX_KEY_CHARS or len(one.value) > MAX_VALUE_BYTES:
                raise self._refuse("search", "a key or a text is too long")
        return tuple(sorted(found, key=lambda one: -one.score)[:limit])

    def delete(self, key: str) -> bool:
        """Forget a key; whether there was one. Raises: ClawftError."""
        was_there: bool = self._ask("delete", {"key": key.strip()}, bool)
        return was_there

    def list_keys(self, prefix: str = "") -> Sequence[str]:
        """Every key that begins with `prefix`, in the order of the plugin. Raises: ClawftError."""
        keys: list[str] = self._ask("list_keys", {"prefix": prefix}, Annotated[list[_Key], Meta(max_length=MAX_KEYS)])
        return tuple(one for one in keys if one.startswith(prefix))

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


def plugin_memories(plugins: Caller, standing: PluginStanding) -> tuple[PluginMemory, ...]:
    """The memories that a plugin brings. Nothing is started for them."""
    manifest = standing.found.manifest
    assert manifest is not None
    return tuple(PluginMemory(plugins, standing.id, name) for name in manifest.memory)


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
