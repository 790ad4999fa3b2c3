"""`weft skills new NAME`: the beginning of a skill."""

import os

import click

from clawft.cli._complete import complete_folders
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.publishing.scaffold import SCRIPTS, make_skill
from clawft.supply.targets import find_site
from clawft.workspace import resolve_path

__all__ = ["command"]


@click.command("new")
@click.argument("name")
@click.option("--scope", type=click.Choice(["user", "project"]), help="Where it is made: for you, or for this project.")
@click.option(
    "--dir", "parent", default="", metavar="PATH", help="In this folder instead.", shell_complete=complete_folders
)
@click.option("--description", default="", metavar="TEXT", help="What it does, and when to use it.")
@click.option("--with-script", "script", type=click.Choice(SCRIPTS), help="With a script that works, to begin from.")
@format_option
def command(name: str, scope: str | None, parent: str, description: str, script: str | None, output: str) -> None:
    """Begin a skill: a folder NAME with a SKILL.md as the Agent Skills specification has it. Nothing is overwritten.

    It is made in ~/.clawft/skills, where it is yours in every project; then `weft skills pack NAME`, `sign NAME` and
    `publish NAME` find it too.
    """
    if scope and parent:
        raise click.UsageError("--dir says where; --scope too: choose one")
    app = open_here()
    workspace = app.workspace
    if parent:
        place = resolve_path(parent, workspace.cwd, workspace.home)
    else:
        place = find_site(workspace, "project" if scope == "project" else "user").roots["clawft"]
    taken = [one.found.file for one in app.skills if one.name == name]
    folder = os.path.join(place, name)
    chosen = next((one for one in SCRIPTS if one == script), None)
    files = make_skill(name, folder, description, chosen)
    if output == "json":
        return print_json("clawft.skills.new.v1", name=name, path=folder, files=files)
    for path in files:
        click.echo(one_line(workspace.shorten(path)))
    for path in taken[:1]:
        say(one_line(f"There is another skill of this name: {workspace.shorten(path)}"))
    shown = one_line(workspace.shorten(folder))
    target = shown if parent else name
    say(f"Next: write {shown}/SKILL.md, then: weft skills validate --strict {target}")
    if not parent:
        say(f"To try it: weft skills run {name}")
    say(f"For others: weft skills pack {target}, or: weft skills publish {target} --dry-run")
    return None
