"""`/config [KEY]`: what is set, where, and what a setting has."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import clean
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["CONFIG"]

_HELP = """\
`/config KEY` shows one value, such as `/config agents.defaults.model`, or a whole section with its defaults. Secrets
stay hidden. `weft config set` changes a value, and /reload takes it up."""


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.config._text import with_state
    from clawft.cli.config.show import setting_lines
    from clawft.config.listing import find_values, get_path, list_settings

    app, columns = repl.app, repl.screen.width
    if rest:
        path = get_path(rest)
        settings = list_settings(app.config, app.environ, app.plugin_schemas, defaults=True)
        find_values(settings, path)  # says what is wrong with a key that nothing has
        shown = [one for one in settings if one.path[: len(path)] == path]
        alone = shown[0].path == path
        print_lines(repl, [clean(with_state(shown[0]))] if alone else setting_lines(shown, app.workspace, columns))
        return
    shown = list_settings(app.config, app.environ, app.plugin_schemas)
    if shown:
        print_lines(repl, setting_lines(shown, app.workspace, columns))
    else:
        repl.screen.print("Nothing is set; /config <section> shows the defaults, such as /config agents")
    print_diagnostics(repl, app.config.diagnostics)


def _complete(repl: "Repl", partial: str) -> Iterable[str]:
    from clawft.config.listing import list_settings

    keys = [one.key for one in list_settings(repl.app.config, repl.app.environ, defaults=True)]
    sections = {key.rsplit(".", depth)[0] for key in keys for depth in range(1, key.count(".") + 1)}
    return offer((*keys, *sections), partial)


CONFIG = SlashCommand("config", "/config", "Show current configuration", _run, _HELP, _complete)
