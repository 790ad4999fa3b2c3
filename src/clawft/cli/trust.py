"""`weft trust`: trust a folder, list what is trusted, take trust back."""

import os

import click

from clawft.cli.completion import complete_folders
from clawft.cli.options import format_option
from clawft.cli.output import CommandResult
from clawft.errors import NotFound


@click.command("trust")
@click.argument("path", required=False, metavar="[PATH]", shell_complete=complete_folders)
@click.option("--review", "whole", is_flag=True, help="Show all of it first, not only a summary.")
@click.option("--list", "listing", is_flag=True, help="List the folders, and every single approval.")
@click.option("--revoke", is_flag=True, help="Take back the trust in the folder, and the approvals of what it brought.")
@click.option("--yes", "-y", is_flag=True, help="Trust it without being asked.")
@format_option
def command(path: str | None, whole: bool, listing: bool, revoke: bool, yes: bool) -> CommandResult | int:
    """Trust what a project's folder brings: skills, agents, hooks, settings, MCP servers and instructions.

    One question covers all of it: trust the folder, review each, or use none of it. What was there at the answer is
    approved as it was then. A repository inside of the folder is another folder, with a question of its own.
    """
    from clawft.app.app import open_app
    from clawft.cli.folder_trust import list_trusted, revoke_trust, trust_folder

    folder = os.path.abspath(path or ".")
    if revoke:
        return revoke_trust(folder)
    if not os.path.isdir(folder):
        raise NotFound("no-folder", "There is no such folder", path=folder)
    app = open_app(os.environ, folder)
    return list_trusted(app) if listing else trust_folder(app, yes=yes, whole=whole)
