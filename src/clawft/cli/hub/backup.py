"""`weft hub backup`."""

import os

import click

from clawft.cli._progress import scan_progress
from clawft.cli.hub._open import count, folder_option, need_store
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.hub.backup import write_backup

__all__ = ["command"]


@click.command("backup")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@folder_option
@format_option
def command(file: str, force: bool, folder: str | None, output: str) -> None:
    """Write all that the hub keeps into one file, while it goes on.

    Skills, versions, tokens and every byte, as they are at one moment, with their hashes: `weft hub restore` checks
    them. The same file restores into a folder and into a PostgreSQL.
    """
    app = open_here()
    with need_store(app, folder) as store:
        manifest = write_backup(store, file, force=force, tell=scan_progress("Writing files"))
    size = os.path.getsize(file)
    if output == "json":
        return print_json(
            "clawft.hub.backup.v1",
            file=os.path.abspath(file),
            bytes=size,
            skills=manifest.skills,
            versions=manifest.versions,
            created=manifest.created,
        )
    held = f"{count(manifest.skills, 'skill')}, {count(manifest.versions, 'version')}"
    say(f"Written: {one_line(file)}, {held}, {size / (1 << 20):.1f} MB")
    return None
