"""`weft scan rules` and `explain`: the rules of the scanner."""

import sys
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from clawft.cli.help import render_help
from clawft.cli.options import format_option
from clawft.cli.output import CommandResult, print_table, say, terminal_width
from clawft.scanner.findings import SEVERITIES
from clawft.scanner.reports.json import rule_json
from clawft.scanner.reports.rules import find_rule, render_rule
from clawft.scanner.rules import load_rules

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


NARROW = 100  # columns; below, what a rule finds stands under its row


@click.command("rules")
@format_option
def rules_command() -> CommandResult:
    """List the rules, the gravest first. `weft scan explain RULE` tells all of one."""
    rules = sorted(load_rules(), key=lambda rule: (SEVERITIES.index(rule.severity), rule.id))

    def show() -> None:
        if (terminal_width() or NARROW) >= NARROW:
            rows = [(rule.id, rule.severity, rule.category, rule.title) for rule in rules]
            print_table(("RULE", "SEVERITY", "CATEGORY", "FINDS"), rows, wide=3)
        else:
            titles = [rule.title for rule in rules]
            print_table(("RULE", "SEVERITY"), [(rule.id, rule.severity) for rule in rules], wide=0, after=titles)
        counts = [(severity, sum(rule.severity == severity for rule in rules)) for severity in SEVERITIES]
        counted = ", ".join(f"{number} {severity}" for severity, number in counts if number)
        say(f"{len(rules)} rules: {counted}. Run: weft scan explain RULE")

    return CommandResult("clawft.scan.rules.v1", {"rules": [rule_json(rule) for rule in rules]}, show)


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    return [CompletionItem(rule.id, help=rule.title) for rule in load_rules() if rule.id.startswith(incomplete)]


@click.command("explain")
@click.argument("rule", shell_complete=_complete)
@format_option
@click.pass_context
def explain_command(ctx: click.Context, rule: str) -> CommandResult:
    """Explain a rule, by its id or one of another scanner."""
    found = find_rule(rule, load_rules())

    def show() -> None:
        text, columns = render_rule(found), terminal_width()
        colour = sys.stdout.isatty() and ctx.color is not False
        click.echo(text.rstrip("\n") if columns is None else render_help(text, columns, colour=colour))

    return CommandResult("clawft.scan.rule.v1", rule_json(found), show)
