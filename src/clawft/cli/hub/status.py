"""`weft hub status`."""

import click

from clawft.cli.hub._open import count, folder_option, hub_command, open_hub, settings_here
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.hub.opening import describe_place, has_store

__all__ = ["command"]

_HEADS = ("SKILL", "LATEST", "VERDICT", "DOWNLOADS", "SUMMARY")


@click.command("status")
@click.option("--limit", "-n", default=20, show_default=True, type=click.IntRange(1, 200), help="How many to list.")
@click.option("--owner", default="", metavar="NAME", help="Only the skills of one owner.")
@folder_option
@format_option
def command(limit: int, owner: str, folder: str | None, output: str) -> None:
    """Say what the hub of this user keeps: owners, skills, and what was changed last.

    All versions of one skill, with those that were yanked: weft hub show @OWNER/NAME.
    """
    app = open_here()
    settings = settings_here(app, folder)
    place = describe_place(settings, app.workspace.user_dir)
    if not has_store(settings, app.workspace.user_dir):
        if output == "json":
            return print_json("clawft.hub.status.v1", place=place, exists=False, owners=[], skills=[])
        return say(f"There is no hub here yet. Start one: {hub_command('serve', folder)}")
    with open_hub(app, folder) as store:
        names = [one for one in store.owners() if owner in ("", one)]
        owners = [(one, store.usage(one)) for one in names]
        page = store.list_skills("updated", limit, owner=owner)
    if output == "json":
        kept = [{"owner": one, "skills": u.skills, "versions": u.versions, "bytes": u.bytes} for one, u in owners]
        skills = [
            {
                "name": f"@{one.skill.owner}/{one.skill.slug}",
                "latest": one.skill.latest,
                "verdict": one.release.verdict if one.release else "",
                "downloads": one.skill.downloads,
                "summary": one.skill.summary,
            }
            for one in page.items
        ]
        return print_json("clawft.hub.status.v1", place=place, exists=True, owners=kept, skills=skills)
    say(f"Kept in {one_line(app.workspace.shorten(place))}")
    for name, used in owners:
        size = f"{used.bytes / (1 << 20):.1f} of {settings.quota.owner_mb} MB"
        say(f"{name}: {count(used.skills, 'skill')}, {count(used.versions, 'version')}, {size}")
    rows = [
        (
            f"@{one.skill.owner}/{one.skill.slug}",
            one.skill.latest,
            one.release.verdict if one.release else "",
            str(one.skill.downloads),
            one_line(one.skill.summary),
        )
        for one in page.items
    ]
    if rows:
        print_table(_HEADS, rows, wide=4)
    return None if rows else say("No skill is published yet. Publish one: weft skills publish DIR")
