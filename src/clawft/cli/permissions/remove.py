"""`weft permissions remove PATTERN`: take a rule away."""

import click

from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json
from clawft.cli.permissions._rules import Lists, change_lists
from clawft.config.edit import Scope
from clawft.config.permissions import KINDS
from clawft.errors import NotFound, find_close

__all__ = ["command"]


@click.command("remove")
@click.argument("pattern")
@target_option
@format_option
def command(pattern: str, scope: Scope, output: str) -> None:
    """Take PATTERN out of the rules, of whatever kind it is."""
    app = open_here()

    def remove(rules: Lists) -> Lists:
        if not any(pattern in rules[kind] for kind in KINDS):
            close = find_close(pattern, [text for kind in KINDS for text in rules[kind]])
            hint = f"did you mean '{close}'?" if close else "Run: weft permissions list"
            raise NotFound("rule-not-found", f"The {scope}'s config has no rule '{pattern[:80]}'", hint=hint)
        return {kind: tuple(rule for rule in rules[kind] if rule != pattern) for kind in KINDS}

    edited, before = change_lists(app, scope, remove)
    kinds = [kind for kind in KINDS if pattern in before[kind]]
    if output == "json":
        changed = {"patterns": [pattern], "path": edited.file, "changed": edited.changed, "was": kinds}
        return print_json("clawft.permissions.change.v1", kind="remove", **changed)
    click.echo(one_line(f"Removed {', '.join(kinds)} {pattern} from {app.workspace.shorten(edited.file)}"))
    return None
