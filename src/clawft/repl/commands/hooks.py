"""`/hooks [NAME]`: every hook with its state, or all about one."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["HOOKS"]

_HELP = "`/hooks NAME` shows one of them whole. To turn one on or off: `weft hooks enable` and `weft hooks disable`."


async def _run(repl: "Repl", rest: str) -> None:
    from clawft.cli.hooks.list import count_rows, row_lines
    from clawft.cli.hooks.show import detail_lines
    from clawft.hooking import find_row, load_rows

    app = repl.app.reopen()  # what was turned on or off meanwhile counts
    rows = sorted(load_rows(app), key=lambda one: one.name)
    if rest:
        return print_lines(repl, detail_lines(app, find_row(rows, rest)))
    print_lines(repl, [*(row_lines(rows, repl.screen.width) if rows else ()), count_rows(rows)])
    return None


def _complete(repl: "Repl", partial: str) -> list[str]:
    from clawft.cli.hooks._names import find_names

    return offer((name for name, _ in find_names(repl.app)), partial)


HOOKS = SlashCommand("hooks", "/hooks", "List available hooks", _run, _HELP, _complete)
