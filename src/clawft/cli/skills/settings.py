"""`weft skills pin NAME`: its description comes first; with `--version` it is not updated."""

from typing import TYPE_CHECKING

import click

from clawft.cli._complete import complete_skills
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json, say
from clawft.cli.skills._entries import set_entries
from clawft.config.edit import Scope

if TYPE_CHECKING:
    from clawft.supply.targets import Site

__all__ = ["command"]

REASON = "by weft skills pin"


@click.command("pin")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@click.option("--version", "hold", is_flag=True, help="Pin the version of an installed skill, in the place of that.")
@click.option("--reason", default="", metavar="TEXT", help="Why, with --version: `update` and the lock say it.")
@click.option("--off", is_flag=True, help="Pin them no longer.")
@target_option
@format_option
def command(names: tuple[str, ...], hold: bool, reason: str, off: bool, scope: Scope, output: str) -> None:
    """Describe skills to a model before all others, whatever the room for descriptions.

    With --version it is the version of an installed skill that is pinned: `weft skills update` leaves it as it is.
    It may be named, and must be the one that is there: weft skills pin NAME --version 1.2.3
    """
    if reason and not hold:
        raise click.UsageError("--reason is for --version")
    if hold:
        return _hold(names, "" if off else one_line(reason) or REASON, scope, output)
    set_entries(names, "pinned", not off, scope, output)
    if not off and output == "table":
        _tell_how(names, scope)
    return None


def _hold(names: tuple[str, ...], reason: str, scope: Scope, output: str) -> None:
    from clawft.supply.hold import hold_versions
    from clawft.supply.targets import find_site
    from clawft.supplying import open_hands

    app = open_here()
    site = find_site(app.workspace, scope)
    asked = [name for name in names if "." in name]  # which no folder of a skill has: `--version 1.2.3`
    names = tuple(name for name in names if name not in asked)
    for name in names if asked else ():
        _check_version(site, name, asked)
    pinned = hold_versions(site, names, reason, open_hands(app))
    if output == "json":
        listed = [{field: getattr(one, field) for field in ("name", "version", "commit", "pinned")} for one in pinned]
        return print_json("clawft.skills.pin.v1", pinned=listed)
    for one in pinned:
        version = one.version or one.commit[:12] or one.digest[:19]
        why = f": {reason}" if reason != REASON else ""
        click.echo(one_line(f"{one.name} is pinned {f'at {version}{why}' if reason else 'no longer'}"))
    return None


def _check_version(site: "Site", name: str, asked: list[str]) -> None:
    """Raises: UsageError for another version than the one that is installed: nothing else can be pinned."""
    from clawft.locks.file import load_lock

    locked = load_lock(site.lock).get(name)
    if locked is not None and asked != [locked.version]:
        has = f"{name} is installed as {locked.version or 'what has no version'}"
        raise click.UsageError(f"{has}: only that can be pinned. Install {asked[0]} first, then pin it")


def _tell_how(names: tuple[str, ...], scope: Scope) -> None:
    """Who pins an installed skill may have meant its version."""
    from clawft.errors import ClawftError
    from clawft.locks.file import load_lock
    from clawft.supply.targets import find_site

    try:
        lock = load_lock(find_site(open_here().workspace, scope).lock)
    except ClawftError:
        return
    installed = [name for name in names if name in lock]
    if installed:
        say(one_line(f"To pin its version instead: weft skills pin {' '.join(installed)} --version"))
