"""`weft hub show`."""

import click

from clawft.cli._complete import complete_hub_skills
from clawft.cli._versions import print_versions
from clawft.cli.hub._open import find_skill, folder_option, need_store, split_name
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.sources.model import Release

__all__ = ["command"]


@click.command("show")
@click.argument("name", metavar="@OWNER/NAME", shell_complete=complete_hub_skills)
@folder_option
@format_option
def command(name: str, folder: str | None, output: str) -> None:
    """Show one skill of the hub: all its versions, the yanked ones too, with verdicts and changelogs."""
    owner, slug, _ = split_name(name, version=False)
    with need_store(open_here(), folder) as store:
        skill = find_skill(store, slug, owner, folder)
        kept = store.versions(skill.id)
    versions = [Release(one.version, one.created, one.changelog, one.verdict, one.yanked) for one in kept]
    full = f"@{skill.owner}/{skill.slug}"
    if output == "json":
        return print_json(
            "clawft.hub.show.v1",
            name=full,
            summary=skill.summary,
            latest=skill.latest,
            removed=skill.deleted,
            downloads=skill.downloads,
            versions=versions,
        )
    state = "removed: nobody is given it" if skill.deleted else f"latest {skill.latest or 'none'}"
    say(one_line(f"{full} ({state}), {skill.downloads} downloads"))
    say(one_line(skill.summary))
    return print_versions(versions)
