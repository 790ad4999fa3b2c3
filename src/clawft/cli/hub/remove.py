"""`weft hub remove`."""

import click

from clawft.cli._complete import complete_hub_skills
from clawft.cli._confirm import confirm
from clawft.cli.hub._open import count, find_skill, folder_option, need_store, split_name
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say

__all__ = ["command"]


@click.command("remove")
@click.argument("name", metavar="@OWNER/NAME", shell_complete=complete_hub_skills)
@click.option("--undo", is_flag=True, help="Give it again.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@folder_option
@format_option
def command(name: str, undo: bool, dry_run: bool, yes: bool, folder: str | None, output: str) -> int:
    """Give a skill to nobody any more, whatever version they name.

    Its versions stay taken, so that none comes back with other content; --undo gives it again.
    """
    owner, slug, _ = split_name(name, version=False)
    app = open_here()
    with need_store(app, folder) as store:
        skill = find_skill(store, slug, owner, folder)
        full = f"@{skill.owner}/{skill.slug}"
        versions = len(store.versions(skill.id))
        agreed = (
            undo or dry_run or yes or confirm(f"Remove {full} with {count(versions, 'version')}?", "Removing a skill")
        )
        if agreed and not dry_run:
            app.audit.write("hub", f"{'undelete' if undo else 'remove'} {full}", decision="done")
            (store.undelete if undo else store.delete)(skill.id)
        removed = store.get_skill(skill.id).deleted
    if output == "json":
        print_json("clawft.hub.remove.v1", name=full, removed=removed, versions=versions)
    elif not agreed:
        say("Nothing was changed")
    elif dry_run:
        say(f"Would be {'given again' if undo else 'removed'}: {full}, with {count(versions, 'version')}")
    else:
        say(f"{'Given again' if undo else 'Removed'}: {full}")
    return 0 if agreed else 1
