"""`weft permissions remove PATTERN`: take a rule away."""

import click

from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json
from clawft.cli.permissions._rules import load_lists, save_lists
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
    before = load_lists(app, scope)
    kinds = [kind for kind in KINDS if pattern in before[kind]]
    if not kinds:
        close = find_close(pattern, [text for kind in KINDS for text in before[kind]])
        hint = f"did you mean '{close}'?" if close else "Run: weft permissions list"
        raise NotFound("rule-not-found", f"The {scope}'s config has no rule '{pattern[:80]}'", hint=hint)
    after = {kind: tuple(one for one in before[kind] if one != pattern) for kind in KINDS}
    edited = save_lists(app, scope, before, after)
    if output == "json":
        changed = {"patterns": [pattern], "path": edited.file, "changed": edited.changed, "was": kinds}
        return print_json("clawft.permissions.change.v1", kind="remove", **changed)
    click.echo(one_line(f"Removed {', '.join(kinds)} {pattern} from {app.workspace.shorten(edited.file)}"))
    return None
