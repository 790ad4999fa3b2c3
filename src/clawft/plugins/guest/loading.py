"""From a folder to the parts of a plugin: its class is made, and what it brings is held against its manifest."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from typing import Any

from clawft.contracts import (
    ChannelAdapter,
    MemoryBackend,
    PipelineStage,
    Plugin,
    PluginError,
    SkillProvider,
    ToolProvider,
)
from clawft.plugins.guest.wire import Declared, Start

__all__ = ["Parts", "load_class"]


def load_class(start: Start) -> type[Plugin]:
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


class Parts:
    """What a plugin brings, by name, as far as its manifest declares it."""

    def __init__(self, parts: Iterable[object], declared: Declared) -> None:
        """Raises: PluginError with code `plugin-parts` where something declared is missing."""
        self.tools: ToolProvider | None = None
        self.skills: dict[str, SkillProvider] = {}
        self.channels: dict[str, ChannelAdapter] = {}
        self.stages: dict[str, PipelineStage[Any]] = {}
        self.memory: dict[str, MemoryBackend] = {}
        for part in parts:
            self._take(part, declared)
        self.tools = self._choose_tools()
        self._check(declared)

    def _choose_tools(self) -> ToolProvider | None:
        """A skill that is all it has may do both."""
        return self.tools or next(iter(self.skills.values()), None)

    def _take(self, part: Any, declared: Declared) -> None:
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

    def _check(self, declared: Declared) -> None:
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
            given = str(getattr(self.stages[name].phase, "value", self.stages[name].phase))
            if given != phase:
                message = f"Its manifest puts the stage '{name}' at {phase}, its code at {given}"
                raise PluginError(message, code="plugin-parts")
