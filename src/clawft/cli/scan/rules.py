"""`weft scan rules`: every rule of the scanner."""

import click

from clawft.cli.options import format_option
from clawft.cli.output import print_json, print_table, say, terminal_width
from clawft.scan.findings import SEVERITIES
from clawft.scan.reports.json import rule_json
from clawft.scan.rules import load_rules

__all__ = ["command"]

NARROW = 100  # columns; below, what a rule finds stands under its row


@click.command("rules")
@format_option
def command(output: str) -> None:
    """List the rules, the gravest first. `weft scan explain RULE` tells all of one."""
    rules = sorted(load_rules(), key=lambda rule: (SEVERITIES.index(rule.severity), rule.id))
    if output == "json":
        return print_json("clawft.scan.rules.v1", rules=[rule_json(rule) for rule in rules])
    if (terminal_width() or NARROW) >= NARROW:
        rows = [(rule.id, rule.severity, rule.category, rule.title) for rule in rules]
        print_table(("RULE", "SEVERITY", "CATEGORY", "FINDS"), rows, wide=3)
    else:
        titles = [rule.title for rule in rules]
        print_table(("RULE", "SEVERITY"), [(rule.id, rule.severity) for rule in rules], wide=0, after=titles)
    counts = [(one, sum(rule.severity == one for rule in rules)) for one in SEVERITIES]
    told = ", ".join(f"{number} {severity}" for severity, number in counts if number)
    say(f"{len(rules)} rules: {told}. Run: weft scan explain RULE")
    return None
