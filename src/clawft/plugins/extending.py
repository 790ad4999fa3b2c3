"""Plugins as extensions: what each brings joins turns by the one way that what is built in does."""

from clawft.plugins.host import Plugins
from clawft.plugins.memory import plugin_memories
from clawft.plugins.stages import plugin_stages
from clawft.plugins.telling import tell_of
from clawft.plugins.tools import plugin_tools
from clawft.run.extension import Extension

__all__ = ["plugin_extensions"]


def plugin_extensions(plugins: Plugins) -> tuple[Extension, ...]:
    """One for each plugin that may be used, in order of precedence, and one that tells what goes wrong with them."""
    if not plugins.standings:
        return ()
    brought = [
        Extension(
            name=one.id,
            tools=plugin_tools(plugins, one),
            stages=plugin_stages(plugins, one),
            memories=plugin_memories(plugins, one),
            is_plugin=True,
        )
        for one in plugins.ready
        if one.found.manifest is not None and one.found.manifest.has_code
    ]
    return (Extension(name="plugins", stages=tell_of(plugins)), *brought)
