"""`/config`, `/hooks`, `/plugins`, `/reload` and `/help`: settings, extensions and help."""

from collections.abc import Iterable

from clawft.app.app import App
from clawft.cli.help import render_help, topic_text
from clawft.cli.help_topics import list_topics
from clawft.cli.output import clean, one_line
from clawft.cli.repl.command import SlashCommand, complete_names, find_command, print_diagnostics, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.skills.list import count_skills
from clawft.errors import find_close

_CONFIG_HELP = """\
`/config KEY` shows one value, such as `/config agents.defaults.model`, or a whole section with its defaults. Secrets
stay hidden. `weft config set` changes a value, and /reload takes it up."""


async def _run_config(repl: ReplContext, rest: str) -> None:
    from clawft.cli.config import setting_lines, with_state
    from clawft.config.listing import find_values, get_path, list_settings

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


def _complete_config(repl: ReplContext, partial: str) -> Iterable[str]:
    from clawft.config.listing import list_settings

    keys = [setting.key for setting in list_settings(repl.app.config, repl.app.environ, defaults=True)]
    sections = {key.rsplit(".", depth)[0] for key in keys for depth in range(1, key.count(".") + 1)}
    return complete_names((*keys, *sections), partial)


CONFIG = SlashCommand("config", "/config", "Show current configuration", _run_config, _CONFIG_HELP, _complete_config)


_HOOKS_HELP = (
    "`/hooks NAME` shows one of them whole. To turn one on or off: `weft hooks enable` and `weft hooks disable`."
)


async def _run_hooks(repl: ReplContext, rest: str) -> None:
    from clawft.app.hooks import find_hook, load_all_hooks
    from clawft.cli.hooks.list import count_rows, row_lines
    from clawft.cli.hooks.show import hook_detail_lines

    app = repl.app.refresh()  # what was turned on or off meanwhile counts
    rows = sorted(load_all_hooks(app), key=lambda one: one.name)
    if rest:
        return print_lines(repl, hook_detail_lines(app, find_hook(rows, rest)))
    print_lines(repl, [*(row_lines(rows, repl.screen.width) if rows else ()), count_rows(rows)])
    return None


def _complete_hooks(repl: ReplContext, partial: str) -> list[str]:
    from clawft.cli.hooks.list import find_hook_names

    return complete_names((name for name, _ in find_hook_names(repl.app)), partial)


HOOKS = SlashCommand("hooks", "/hooks", "List available hooks", _run_hooks, _HOOKS_HELP, _complete_hooks)


_PLUGINS_HELP = (
    "`/plugins ID` shows one of them whole. To put one into use, or take it out: `weft plugins enable` and "
    "`weft plugins disable`. What is taken out counts at once; what is new joins when weft is started anew."
)


async def _run_plugins(repl: ReplContext, rest: str) -> None:
    from clawft.app.plugins import find_plugin, load_plugin_statuses
    from clawft.cli.plugins.list import count_plugins, load_required_missing_plugins, plugin_lines
    from clawft.cli.plugins.show import plugin_detail_lines

    app = repl.app.refresh()  # what was granted or turned off meanwhile counts
    found = load_plugin_statuses(app)
    if rest:
        return print_lines(repl, plugin_detail_lines(app, find_plugin(found, rest)))
    statuses = sorted((*found, *load_required_missing_plugins(app, found)), key=lambda one: one.id)
    listed = plugin_lines(app, statuses, repl.screen.width) if statuses else []
    print_lines(repl, [*listed, count_plugins(statuses)])
    return None


def _complete_plugins(repl: ReplContext, partial: str) -> list[str]:
    from clawft.app.plugins import load_found

    return complete_names((plugin.id for plugin in load_found(repl.app)), partial)


PLUGINS = SlashCommand("plugins", "/plugins", "List available plugins", _run_plugins, _PLUGINS_HELP, _complete_plugins)


_RELOAD_HELP = "The conversation goes on. Where the config or the agent cannot be read, all stays as it was."


async def _run_reload(repl: ReplContext, _rest: str) -> None:
    old = repl.app
    config = App(old.workspace, old.environ, old.dirs).config  # read before what works is given up
    await repl.reload()
    print_diagnostics(repl, config.diagnostics)
    agents = len(repl.app.agents)
    print_lines(repl, [f"Reloaded. {count_skills(repl.app.skills)}; {agents} agent{'s' * (agents != 1)}"])


RELOAD = SlashCommand("reload", "/reload", "Read config, skills and agents again", _run_reload, _RELOAD_HELP)


_HELP_HELP = (
    "Without a topic it lists the commands. `/help /NAME` explains the command, where a topic has the same name."
)
_FIRST = ("skills", "agents", "commands", "config")
_MORE = """
A skill that you may start is a command too: /<skill-name> [args]; /skills lists them.
@path adds a file. \\ at the end of a line, or Alt-Enter, begins another one. Tab completes.
Ctrl-C stops a turn, Ctrl-O shows what tools did, Ctrl-D exits."""


async def _run_help(repl: ReplContext, rest: str) -> None:
    if rest:
        _explain(repl, rest)
    else:
        print_lines(repl, [*_list(), *_more()])


def _list() -> list[str]:
    from clawft.cli.repl.commands import COMMANDS  # which this command is in

    width = max(len(command.usage) for command in COMMANDS)
    return ["Commands:", *(f"  {command.usage:{width}} {command.description}" for command in COMMANDS)]


def _more() -> list[str]:
    others = ", ".join(name for name in list_topics() if name not in _FIRST)
    return [f"More topics: {others}", *_MORE.split("\n")]


def _explain(repl: ReplContext, asked: str) -> None:
    from clawft.cli.repl.commands import COMMANDS

    command = find_command(asked.removeprefix("/"), COMMANDS)
    text = topic_text(asked) if asked in list_topics() else _describe(command) if command else ""
    screen = repl.screen
    if text:
        screen.print(render_help(text, screen.width, colour=screen.colour, plain=screen.plain))
        return
    close = find_close(asked.removeprefix("/"), (*list_topics(), *(command.name for command in COMMANDS)))
    hint = f" Did you mean /help {close}?" if close else ""
    screen.print(f"No topic or command '{one_line(asked)}'. Type /help for available commands.{hint}")


def _describe(command: SlashCommand) -> str:
    also = "".join(f", /{name}" for name in command.aliases)
    return f"    {command.usage}{also}\n\n{command.description}.\n\n{command.help}"


def _complete_help(_repl: ReplContext, partial: str) -> Iterable[str]:
    from clawft.cli.repl.commands import COMMANDS

    return complete_names((*list_topics(), *(command.name for command in COMMANDS)), partial)


_TOPICS = ", ".join(_FIRST)
HELP = SlashCommand("help", "/help [topic]", f"Show help (topics: {_TOPICS})", _run_help, _HELP_HELP, _complete_help)
