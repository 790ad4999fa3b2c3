"""`weft permissions list`: every rule with where it stands, and the mode."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.trust.modes import MODES, default_mode
from clawft.trust.rules import check_tracked, load_rules
from clawft.trust.unfollowed import find_unfollowed

__all__ = ["command"]


@click.command("list")
@format_option
def command(output: str) -> None:
    """List what is allowed, asked for and denied. Deny beats ask, ask beats allow; all files add up."""
    app = open_here()
    workspace = app.workspace
    rules, mode = load_rules(app.config, workspace.project), default_mode(app.config, workspace.user_dir)
    waiting = [one for one in app.config.diagnostics if one.code == "config-untrusted"]
    said = (
        *rules.diagnostics(),
        *check_tracked(rules.deny, workspace),
        *waiting,
        *find_unfollowed(app.config, workspace.user_dir),
    )
    if output == "json":
        listed = [
            {"kind": one.kind, "pattern": one.pattern.text, "source": one.source, "problem": one.pattern.problem}
            for one in rules.all
        ]
        return print_json(
            "clawft.permissions.list.v1", mode=mode.value, rules=listed, diagnostics=[to_json(one) for one in said]
        )
    rows = [(one.kind, one.pattern.text, workspace.shorten(one.source)) for one in rules.all]
    if rows:
        print_table(("RULE", "PATTERN", "FROM"), rows, wide=1)
    else:
        say("No rules. Add one: weft permissions allow 'Bash(make test)'")
    say(f"mode {mode}: {MODES[mode]}")
    for one in said:
        show_diagnostic(one, where=workspace.shorten(one.where))
    return None
