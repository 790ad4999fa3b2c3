"""`weft skills remove NAME...`: what weft installed, with its approvals and its entry in the locks."""

from collections.abc import Sequence

import click

from clawft.app import App
from clawft.cli._complete import complete_installed
from clawft.cli._confirm import confirm, stopped_before
from clawft.cli.options import finish, format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.skills._supply import check_objections, list_names
from clawft.cli.skills._targets import scope_choice
from clawft.locks.file import load_lock
from clawft.supply.install import begin
from clawft.supply.remove import Removal, find_unneeded, plan_removal
from clawft.supply.targets import Scope, find_site
from clawft.supplying import open_supplies

__all__ = ["command"]


@click.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_installed)
@scope_choice
@click.option("--dry-run", is_flag=True, help="Show what would go, and remove nothing.")
@click.option("--force", is_flag=True, help="Also what weft did not install, what was edited, and what others need.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(names: tuple[str, ...], scope: Scope, dry_run: bool, force: bool, yes: bool, output: str) -> int:
    """Remove skills that weft installed, from every folder they were put into; their approvals go with them."""
    app = open_here()
    finish(app)
    site = find_site(app.workspace, scope)
    lock = load_lock(site.lock)
    removals = plan_removal(site, lock, names)
    if output == "table" or not yes:
        _show(app, removals, force=force)
    if not force:
        check_objections(((one.name, one.objections) for one in removals), "removed")
    if not dry_run:
        with (
            begin(f"remove {' '.join(names)}"[:200], site, (), open_supplies(app)) as transaction,
            stopped_before("removed", lambda: transaction.written),
        ):
            question = f"Remove {list_names([one.name for one in removals])}?"
            if not yes and not confirm(question, "To remove a skill"):
                say("Nothing was removed")
                return 1
            for problem in transaction.remove(removals):
                show_diagnostic(problem, where=app.workspace.shorten(problem.path))
    unneeded = find_unneeded(lock, names)
    if output == "json":
        skills = [{"name": one.name, "paths": one.places, "installed": one.locked is not None} for one in removals]
        print_json("clawft.skills.remove.v1", removed=not dry_run, skills=skills, unneeded=unneeded)
        return 0
    for one in removals:
        click.echo(one_line(f"{'Would be removed' if dry_run else 'Removed'}: {one.name}"))
    if unneeded:
        say(one_line(f"No longer needed by others: weft skills remove {' '.join(unneeded)}"))
    return 0


def _show(app: App, removals: Sequence[Removal], *, force: bool) -> None:
    for one in removals:
        for place in one.places:
            say(one_line(f"{one.name} ({app.workspace.shorten(place)})"))
        if not one.places:
            say(one_line(f"{one.name}: its folders are gone already; its entry in the lock goes"))
        for problem in one.objections if force else ():  # else it is refused with them
            show_diagnostic(problem, where=app.workspace.shorten(problem.where), indent="  ")
