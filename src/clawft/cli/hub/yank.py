"""`weft hub yank` and `weft hub unyank`."""

import click

from clawft.cli._complete import complete_hub_versions
from clawft.cli._confirm import confirm
from clawft.cli.hub._open import find_skill, need_store, split_name
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say

__all__ = ["command"]


@click.command("yank")
@click.argument("name", metavar="@OWNER/NAME@VERSION", shell_complete=complete_hub_versions)
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who have it.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(name: str, reason: str, dry_run: bool, yes: bool, output: str) -> int:
    """Take a version back: nobody is given it any more who does not name it.

    Those who have it in a lock still get it, with the reason. `weft hub unyank` puts it back.
    """
    owner, slug, version = split_name(name, version=True)
    app = open_here()
    with need_store(app) as store:
        skill = find_skill(store, slug, owner)
        store.get_version(skill.id, version)
        full = f"@{skill.owner}/{skill.slug}@{version}"
        agreed = dry_run or yes or confirm(f"Yank {full}?", "Yanking a version")
        if agreed and not dry_run:
            app.audit.write("hub", f"yank {full}", decision="done", detail={"reason": one_line(reason)})
            store.yank(skill.id, version, one_line(reason))
        latest = store.get_skill(skill.id).latest
    if output == "json":
        print_json("clawft.hub.yank.v1", name=full, yanked=agreed and not dry_run, latest=latest)
    elif not agreed:
        say("Nothing was changed")
    else:
        say(f"{'Would be yanked' if dry_run else 'Yanked'}: {full}" + ("" if dry_run else _say_latest(latest)))
    return 0 if agreed else 1


def _say_latest(latest: str) -> str:
    return f"; the latest is {latest}" if latest else "; no version of it is left to give"
