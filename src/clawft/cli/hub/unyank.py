"""`weft hub unyank`."""

import click

from clawft.cli._complete import complete_hub_versions
from clawft.cli.hub._open import find_skill, find_version, folder_option, need_store, split_name
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say

__all__ = ["command"]


@click.command("unyank")
@click.argument("name", metavar="@OWNER/NAME@VERSION", shell_complete=complete_hub_versions)
@folder_option
@format_option
def command(name: str, folder: str | None, output: str) -> None:
    """Give a version again that was yanked."""
    owner, slug, version = split_name(name, version=True)
    app = open_here()
    with need_store(app, folder) as store:
        skill = find_skill(store, slug, owner, folder)
        find_version(store, skill, version)
        full = f"@{skill.owner}/{skill.slug}@{version}"
        app.audit.write("hub", f"unyank {full}", decision="done")
        store.unyank(skill.id, version)
        latest = store.get_skill(skill.id).latest
    if output == "json":
        print_json("clawft.hub.yank.v1", name=full, yanked=False, latest=latest)
    else:
        say(f"Given again: {full}; the latest is {latest}")
