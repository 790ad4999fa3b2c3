"""`weft hub yank`."""

import click

from clawft.cli._complete import complete_hub_versions
from clawft.cli._confirm import confirm
from clawft.cli.hub._open import find_skill, find_version, folder_option, need_store, split_name
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.hub.model import NO_REASON

__all__ = ["command"]


@click.command("yank")
@click.argument("name", metavar="@OWNER/NAME@VERSION", shell_complete=complete_hub_versions)
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who have it.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@folder_option
@format_option
def command(name: str, reason: str, dry_run: bool, yes: bool, folder: str | None, output: str) -> int:
    """Take a version back: nobody is given it any more who does not name it.

    Those who have it in a lock still get it, with the reason, which `weft skills audit` tells them too. To yank it
    again changes the reason, if another is given. `weft hub unyank` puts it back.
    """
    owner, slug, version = split_name(name, version=True)
    app = open_here()
    with need_store(app, folder) as store:
        skill = find_skill(store, slug, owner, folder)
        before = find_version(store, skill, version).yanked
        full = f"@{skill.owner}/{skill.slug}@{version}"
        why = one_line(reason) or before
        agreed = dry_run or yes or confirm(f"Yank {full}?", "Yanking a version")
        if agreed and not dry_run:
            app.audit.write("hub", f"yank {full}", decision="done", detail={"reason": why})
            store.yank(skill.id, version, why)
            why = store.get_version(skill.id, version).yanked
        latest = store.get_skill(skill.id).latest
    if output == "json":
        yanked = bool(before) or (agreed and not dry_run)
        print_json("clawft.hub.yank.v1", name=full, yanked=yanked, reason=why, latest=latest)
    elif not agreed:
        say("Nothing was changed")
    else:
        said = "Would be yanked" if dry_run else "Yanked"
        because = f" ({why})" if why not in ("", NO_REASON) else ""
        say(f"{said}: {full}{because}" + ("" if dry_run else _say_latest(latest)))
    return 0 if agreed else 1


def _say_latest(latest: str) -> str:
    return f"; the latest is {latest}" if latest else "; no version of it is left to give"
