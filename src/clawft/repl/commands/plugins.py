"""`/plugins [ID]`: every plugin with its state, or all about one."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["PLUGINS"]

_HELP = (
    "`/plugins ID` shows one of them whole. To put one into use, or take it out: `weft plugins enable` and "
    "`weft plugins disable`. What is taken out counts at once; what is new joins when weft is started anew."
)


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.plugins._gone import load_missed
    from clawft.cli.plugins.list import count_plugins, plugin_lines
    from clawft.cli.plugins.show import detail_lines
    from clawft.plugging import find_plugin, load_plugin_standings

    app = repl.app.reopen()  # what was granted or turned off meanwhile counts
    found = load_plugin_standings(app)
    if rest:
        return print_lines(repl, detail_lines(app, find_plugin(found, rest)))
    standings = sorted((*found, *load_missed(app, found)), key=lambda one: one.id)
    listed = plugin_lines(app, standings, repl.screen.width) if standings else []
    print_lines(repl, [*listed, count_plugins(standings)])
    return None


def _complete(repl: "Repl", partial: str) -> list[str]:
    from clawft.plugging import load_found

    return offer((one.id for one in load_found(repl.app)), partial)


PLUGINS = SlashCommand("plugins", "/plugins", "List available plugins", _run, _HELP, _complete)
