"""`/config`, `/hooks`, `/plugins` and `/reload`: settings and extensions."""

from collections.abc import Iterable

from clawft.app.app import App
from clawft.app.hooks import find_hook, load_all_hooks
from clawft.app.plugins import find_plugin, load_found, load_plugin_statuses
from clawft.cli.config import setting_lines, with_state
from clawft.cli.hooks.list import count_rows, find_hook_names, row_lines
from clawft.cli.hooks.show import hook_detail_lines
from clawft.cli.output import clean
from clawft.cli.plugins.list import count_plugins, load_required_missing_plugins, plugin_lines
from clawft.cli.plugins.show import plugin_detail_lines
from clawft.cli.repl.command import complete_names, print_diagnostics, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.skills.list import count_skills
from clawft.config.listing import find_values, get_path, list_settings


async def run_config(repl: ReplContext, rest: str) -> None:
    app, columns = repl.app, repl.screen.width
    if rest:
        path = get_path(rest)
        settings = list_settings(app.config, app.environ, app.plugin_schemas, defaults=True)
        find_values(settings, path)  # says what is wrong with a key that nothing has
        shown = [setting for setting in settings if setting.path[: len(path)] == path]
        alone = shown[0].path == path
        print_lines(repl, [clean(with_state(shown[0]))] if alone else setting_lines(shown, app.workspace, columns))
        return
    shown = list_settings(app.config, app.environ, app.plugin_schemas)
    if shown:
        print_lines(repl, setting_lines(shown, app.workspace, columns))
    else:
        repl.screen.print("Nothing is set; /config <section> shows the defaults, such as /config agents")
    print_diagnostics(repl, app.config.diagnostics)


def complete_config(repl: ReplContext, partial: str) -> Iterable[str]:
    keys = [setting.key for setting in list_settings(repl.app.config, repl.app.environ, defaults=True)]
    sections = {key.rsplit(".", depth)[0] for key in keys for depth in range(1, key.count(".") + 1)}
    return complete_names((*keys, *sections), partial)


async def run_hooks(repl: ReplContext, rest: str) -> None:
    app = repl.app.refresh()  # what was turned on or off meanwhile counts
    rows = sorted(load_all_hooks(app), key=lambda one: one.name)
    if rest:
        return print_lines(repl, hook_detail_lines(app, find_hook(rows, rest)))
    print_lines(repl, [*(row_lines(rows, repl.screen.width) if rows else ()), count_rows(rows)])
    return None


def complete_hooks(repl: ReplContext, partial: str) -> list[str]:
    return complete_names((name for name, _ in find_hook_names(repl.app)), partial)


async def run_plugins(repl: ReplContext, rest: str) -> None:
    app = repl.app.refresh()  # what was granted or turned off meanwhile counts
    found = load_plugin_statuses(app)
    if rest:
        return print_lines(repl, plugin_detail_lines(app, find_plugin(found, rest)))
    statuses = sorted((*found, *load_required_missing_plugins(app, found)), key=lambda one: one.id)
    listed = plugin_lines(app, statuses, repl.screen.width) if statuses else []
    print_lines(repl, [*listed, count_plugins(statuses)])
    return None


def complete_plugins(repl: ReplContext, partial: str) -> list[str]:
    return complete_names((plugin.id for plugin in load_found(repl.app)), partial)


async def run_reload(repl: ReplContext, _rest: str) -> None:
    old = repl.app
    config = App(old.workspace, old.environ, old.dirs).config  # read before what works is given up
    await repl.reload()
    print_diagnostics(repl, config.diagnostics)
    agents = len(repl.app.agents)
    print_lines(repl, [f"Reloaded. {count_skills(repl.app.skills)}; {agents} agent{'s' * (agents != 1)}"])
