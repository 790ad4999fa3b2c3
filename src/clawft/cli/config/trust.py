"""`weft config trust`: look at the project's config, and approve it as it is now."""

import os

import click

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, one_line, print_json, say

__all__ = ["command"]

MAX_LINES = 200


@click.command("trust")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(output: str, *, yes: bool) -> int:
    """Show the project's config file, and approve it as it is now. It is ignored until then, and when it changes.

    It can choose models, start MCP servers, loosen the policies of tools and give skills your keys.
    """
    app, refused = open_here(), False

    def agree(found: dict[str, bytes]) -> bool:
        nonlocal refused
        for path, content in found.items() if output == "table" else ():
            _show(app, path, content)
        if not found:
            say("There is no config in this project")
            return False
        refused = not yes and not _ask(app, list(found))
        if refused:
            say("Nothing was approved")
        return not refused

    approved = app.approve_config(agree)
    if output == "json":
        print_json("clawft.config.trust.v1", approved=list(approved))
    for path in approved if output == "table" else ():
        click.echo(one_line(f"Approved {app.workspace.shorten(path)}"))
    return int(refused)


def _show(app: App, path: str, content: bytes) -> None:
    """What changed since it was approved, or all of it."""
    known = app.approvals.find("config", path)
    change = app.kept.compare_file(known.digest, os.path.basename(path), content) if known else None
    lines = list(change.diff) if change else content.decode("utf-8", "replace").splitlines()
    say(one_line(app.workspace.shorten(path)) + (f", changed since {known.at[:10]}:" if known and change else ":"))
    for line in lines[:MAX_LINES]:
        say(f"  {clean(line)}")
    if len(lines) > MAX_LINES:
        say(f"  (and {len(lines) - MAX_LINES} lines more)")


def _ask(app: App, paths: list[str]) -> bool:
    """Whether a person agrees; a no is written down. Raises: Refused where there is nobody to ask."""
    agreed = False
    try:
        question = f"Approve {', '.join(map(app.workspace.shorten, paths))}?"
        agreed = confirm(question, "To approve a project's config", "Look at it, then: weft config trust --yes")
    finally:
        for path in paths if not agreed else ():
            app.audit.tell("approval", f"config {path}", decision="denied")
    return agreed
