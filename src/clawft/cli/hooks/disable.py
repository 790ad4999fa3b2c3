"""`weft hooks disable NAME`."""

import click

from clawft.cli._complete import complete_hooks
from clawft.cli.hooks._entries import tell, write_enabled
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line
from clawft.errors import NotFound
from clawft.hooking import HookRow, find_row, load_rows
from clawft.trust.approvals import Approval
from clawft.trust.command_hooks import KIND
from clawft.trust.hooks import HookStanding

__all__ = ["command"]


@click.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_hooks)
@click.option("--revoke", is_flag=True, help="Take back the approval instead: it is asked for again.")
@format_option
def command(names: tuple[str, ...], revoke: bool, output: str) -> None:
    """Take hooks out of use: they hear nothing any more. `weft hooks enable` puts them back."""
    app = open_here()
    found = load_rows(app)
    rows = [find_row(found, name) for name in names]
    if not revoke:
        return tell(rows, write_enabled(app, rows, enabled=False), output)
    known = app.approvals.load()
    meant = [one for one in known for row in rows if _covers(one, row)]
    lost = next((row for row in rows if not any(_covers(one, row) for one in known)), None)
    if lost is not None:
        hint = _whose(lost)
        raise NotFound("approval-not-found", one_line(f"Nothing is approved as the hook '{lost.name}'"), hint=hint)
    taken = app.desk.revoke(meant)
    for one in taken if output == "table" else ():
        click.echo(one_line(f"Taken back: the approval of {one.name}"))
    return tell(rows, None, output, revoked=[one.path for one in taken])


def _covers(approval: Approval, row: HookRow) -> bool:
    standing = row.standing
    if isinstance(standing, HookStanding):
        return (approval.kind, approval.path) == ("hook", standing.found.folder)
    return (approval.kind, approval.path) == (KIND, row.file)


def _whose(row: HookRow) -> str:
    """How a hook that was not approved by itself is turned off."""
    skill = row.standing.found.skill if row.standing else None
    return f"Run: weft skills trust --revoke {skill.name}" if skill else f"Run: weft hooks disable {row.name}"
