"""The composition root of running plugins: their host, what they add to turns, and their memory."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from clawft.agent.memory import MemoryBackend, MemoryFiles
from clawft.agent.runtime import Insertion
from clawft.app.plugins import load_missing, load_plugin_statuses, open_grants
from clawft.config import config_files
from clawft.config.agents import FILES
from clawft.config.extensions import PluginsSettings
from clawft.plugins.extensions import ChosenMemory, plugin_extensions
from clawft.plugins.host import PluginGrantWatch, Plugins
from clawft.plugins.notices import MissingStages, make_stage_guard
from clawft.plugins.runtime import PluginEnvironment
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.plugins import PluginStatus

if TYPE_CHECKING:
    from clawft.app.app import App

T = TypeVar("T")


def open_plugins(app: "App", sandbox: Sandbox) -> Plugins:
    """The host of the plugins that may be used: entered where those that run are to be ended, too."""

    def load() -> tuple[tuple[PluginStatus, ...], PluginsSettings]:
        now = app.refresh()
        return load_plugin_statuses(now), now.own_config.plugins

    around = PluginEnvironment(app.workspace, app.environ, sandbox, app.secrets, app.audit)
    latest = PluginGrantWatch((open_grants(app).path, *config_files(app.workspace)), load)
    return Plugins(load_plugin_statuses(app), app.own_config.plugins, around, latest)


def guard_turns(app: "App", plugins: Plugins) -> tuple[Insertion, ...]:
    """Return the insertions that end every turn as long as a required stage of a plugin cannot run."""
    seen = -1
    known: tuple[MissingStages, ...] = ()

    def find() -> tuple[MissingStages, ...]:
        nonlocal seen, known
        if seen != plugins.changes:
            seen, known = plugins.changes, load_missing(app, plugins.statuses, plugins.settings)
        return known

    return make_stage_guard(find)


def pick_memory(app: "App", files: MemoryFiles, plugins: Plugins) -> MemoryBackend:
    """The memory that the user chose: the files, or one that a plugin brings."""
    name = app.own_config.memory.backend
    if name == FILES:
        return files
    return ChosenMemory(name, lambda: plugin_extensions(plugins))


async def use_memory(app: "App", name: str, work: Callable[[MemoryBackend], T]) -> T:
    """Do something with the memory of a plugin, in a thread; it is started for it, and ended. Raises: ClawftError."""
    async with open_plugins(app, app.open_sandbox()) as plugins:
        return await to_thread.run_sync(work, ChosenMemory(name, lambda: plugin_extensions(plugins)))
