"""`weft scan explain RULE`: what a rule finds, why it matters, an example and what is none."""

import sys
from typing import TYPE_CHECKING

import click

from clawft.cli._fold import render_help
from clawft.cli.options import format_option
from clawft.cli.output import print_json, terminal_width
from clawft.scan.reports.json import rule_json
from clawft.scan.reports.rules import find_rule, render_rule
from clawft.scan.rules import load_rules

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["command"]


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    from click.shell_completion import CompletionItem

    return [CompletionItem(rule.id, help=rule.title) for rule in load_rules() if rule.id.startswith(incomplete)]


@click.command("explain")
@click.argument("rule", shell_complete=_complete)
@format_option
@click.pass_context
def command(ctx: click.Context, rule: str, output: str) -> None:
    """Explain a rule, by its id or one of another scanner."""
    found = find_rule(rule, load_rules())
    if output == "json":
        return print_json("clawft.scan.rule.v1", **rule_json(found))
    text, columns = render_rule(found), terminal_width()
    colour = sys.stdout.isatty() and ctx.color is not False
    click.echo(text.rstrip("\n") if columns is None else render_help(text, columns, colour=colour))
    return None
