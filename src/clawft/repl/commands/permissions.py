"""`/permissions`: the lasting rules, and the mode."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line, table_lines
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_diagnostics, print_lines
from clawft.repl.commands.mode import current_mode

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["PERMISSIONS"]

_HELP = """\
Deny beats ask, and ask beats allow. `weft permissions allow|ask|deny PATTERN` adds a rule and `remove` takes it away;
`/reload` then sees it. `weft help permissions` tells how patterns are written."""


async def _run(repl: "Repl", _rest: str) -> None:
    from clawft.trust.rules import load_rules

    workspace = repl.app.workspace
    rules = load_rules(repl.app.config, workspace.project)
    rows = [(one.kind, one_line(one.pattern.text), workspace.shorten(one.source)) for one in rules.all]
    if rows:
        print_lines(repl, table_lines(("RULE", "PATTERN", "FROM"), rows, wide=1, columns=repl.screen.width))
    else:
        repl.screen.print("No rules. Add one: weft permissions allow 'Bash(make test)'")
    repl.screen.print(f"Mode: {current_mode(repl)}")
    print_diagnostics(repl, rules.diagnostics())


PERMISSIONS = SlashCommand("permissions", "/permissions", "List what is allowed, asked for and denied", _run, _HELP)
