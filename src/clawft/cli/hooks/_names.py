"""The names that hooks go by, for what is typed: quick, since nothing is judged."""

from collections.abc import Iterator

from clawft.app import App
from clawft.config.hooks import own_hooks
from clawft.discovery.claude_hooks import load_claude_hooks, load_skill_commands
from clawft.discovery.hooks import load_hooks, load_skill_hooks
from clawft.discovery.locations import hook_locations
from clawft.hooking import find_plugin_hooks

__all__ = ["find_names"]


def find_names(app: App) -> Iterator[tuple[str, str]]:
    """Each with what it is. Raises: ClawftError."""
    extra = own_hooks(app.config, app.workspace.user_dir, app.environ).load.extra_dirs
    skills = app.catalog.found
    places, files = find_plugin_hooks(app)
    folders = hook_locations(app.workspace, extra, places)
    for one in (*load_hooks(folders), *load_skill_hooks(skills)):
        yield one.name, one.hook.about.description if one.hook else ""
    for each in (*load_claude_hooks(app.workspace, files), *load_skill_commands(skills)):
        yield each.name, ", ".join(each.events)
