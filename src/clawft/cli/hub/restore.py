"""`weft hub restore`."""

import click

from clawft.cli._confirm import confirm
from clawft.cli.hub._open import count, folder_option, open_hub, settings_here
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.hub.opening import describe_place
from clawft.hub.restore import check_backup, restore_folder, restore_shared

__all__ = ["command"]


@click.command("restore")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Replace the hub that is there.")
@click.option("--dry-run", is_flag=True, help="Check the backup, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a hub is replaced.")
@folder_option
@format_option
def command(file: str, force: bool, dry_run: bool, yes: bool, folder: str | None, output: str) -> int:
    """Make the hub what a backup says, all of it or nothing.

    The whole file is checked first. A hub that is there is replaced only with --force, and not while it is served.
    """
    app = open_here()
    settings = settings_here(app, folder)
    place = app.workspace.shorten(describe_place(settings, app.workspace.user_dir))
    agreed = dry_run or not force or yes or confirm(f"Replace the hub in {place}?", "Replacing a hub")
    manifest = check_backup(file)
    if agreed and not dry_run:
        subject = f"restore {one_line(file)}"
        app.audit.write("hub", subject, decision="allowed", detail={"place": place})
        if settings.database is None:
            restore_folder(file, settings.folder, force=force)
        else:
            with open_hub(app, folder) as store:
                restore_shared(file, store, force=force)
        app.audit.tell("hub", subject, decision="done", detail={"place": place})
    if output == "json":
        counts = {"skills": manifest.skills, "versions": manifest.versions}
        print_json("clawft.hub.restore.v1", place=place, restored=agreed and not dry_run, **counts)
    elif not agreed:
        say("Nothing was changed")
    else:
        words = "The backup is whole" if dry_run else f"Restored into {one_line(place)}"
        say(f"{words}: {count(manifest.skills, 'skill')}, {count(manifest.versions, 'version')}")
    return 0 if agreed else 1
