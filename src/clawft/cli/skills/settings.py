"""`weft skills pin`, `enable` and `disable`: settings of single skills in a config file."""

from typing import TYPE_CHECKING

import click

from clawft.app.app import App, entry_name, entry_of
from clawft.app.install import open_install_effects
from clawft.cli.completion import complete_skills
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import CommandResult, one_line, say, show_diagnostics
from clawft.config import join_path
from clawft.config.changes import ConfigScope, SettingChange
from clawft.errors import ClawftError
from clawft.install.lockfile.file import load_lock
from clawft.install.transaction.targets import find_site
from clawft.install.transaction.updates import hold_versions
from clawft.server.protocol.base import diagnostic_json
from clawft.trust.status import STATES, SkillStatus

if TYPE_CHECKING:
    from clawft.install.transaction.targets import InstallSite


def _set_entries(names: tuple[str, ...], setting: str, value: bool, scope: ConfigScope) -> CommandResult:
    """Give a setting of skills a value, in one write, and tell how each stands now. Raises: ClawftError."""
    app = open_here()
    entries = dict.fromkeys(entry_name(app, app.get_skill(name)) for name in names)
    changes = [SettingChange(("skills", "entries", entry, setting), value) for entry in entries]
    edited = app.edit_config(scope, changes)
    now = open_here()
    statuses = list({skill.found.file: skill for skill in map(now.get_skill, names)}.values())
    skills = [_to_json(now, status) for status in statuses]

    def show() -> None:
        for status in statuses:
            pinned = "pinned and " if entry_of(now, status).pinned else ""
            click.echo(one_line(f"{status.name} is {pinned}{status.state}: {STATES[status.state]}"))
            if status.state != "ready":
                show_diagnostics(status.reasons, indent="  ")
            if getattr(entry_of(now, status), setting) is not value:
                key = join_path(("skills", "entries", entry_name(now, status)))
                say(one_line(f"note: something else sets {key}.{setting} too, and wins. Run: weft config show {key}"))
        say(one_line(f"{'Written to' if edited.changed else 'So it was in'} {now.workspace.shorten(edited.file)}"))
        if setting == "pinned" and value:
            _tell_how(names, scope)

    return CommandResult(
        "clawft.skills.entries.v1", {"skills": skills, "path": edited.file, "changed": edited.changed}, show
    )


def _to_json(app: App, status: SkillStatus) -> dict[str, object]:
    entry = entry_of(app, status)
    return {
        "name": status.name,
        "enabled": entry.enabled,
        "pinned": entry.pinned,
        "state": status.state,
        "reasons": [diagnostic_json(reason) for reason in status.reasons],
    }


REASON = "by weft skills pin"


@click.command("pin")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@click.option("--version", "hold", is_flag=True, help="Pin the version of an installed skill, in the place of that.")
@click.option("--reason", default="", metavar="TEXT", help="Why, with --version: `update` and the lock say it.")
@click.option("--off", is_flag=True, help="Pin them no longer.")
@target_option
@format_option
def pin_command(names: tuple[str, ...], hold: bool, reason: str, off: bool, scope: ConfigScope) -> CommandResult:
    """Describe skills to a model before all others, whatever the room for descriptions.

    With --version it is the version of an installed skill that is pinned: `weft skills update` leaves it as it is.
    It may be named, and must be the one that is there: weft skills pin NAME --version 1.2.3
    """
    if reason and not hold:
        raise click.UsageError("--reason is for --version")
    if hold:
        return _hold(names, "" if off else one_line(reason) or REASON, scope)
    return _set_entries(names, "pinned", not off, scope)


def _hold(names: tuple[str, ...], reason: str, scope: ConfigScope) -> CommandResult:
    app = open_here()
    site = find_site(app.workspace, scope)
    asked = [name for name in names if "." in name]  # which no folder of a skill has: `--version 1.2.3`
    names = tuple(name for name in names if name not in asked)
    for name in names if asked else ():
        _check_version(site, name, asked)
    pinned = hold_versions(site, names, reason, open_install_effects(app))
    listed = [{field: getattr(skill, field) for field in ("name", "version", "commit", "pinned")} for skill in pinned]

    def show() -> None:
        for skill in pinned:
            version = skill.version or skill.commit[:12] or skill.digest[:19]
            why = f": {reason}" if reason != REASON else ""
            click.echo(one_line(f"{skill.name} is pinned {f'at {version}{why}' if reason else 'no longer'}"))

    return CommandResult("clawft.skills.pin.v1", {"pinned": listed}, show)


def _check_version(site: "InstallSite", name: str, asked: list[str]) -> None:
    """Raises: UsageError for another version than the one that is installed: nothing else can be pinned."""
    locked = load_lock(site.lock).get(name)
    if locked is not None and asked != [locked.version]:
        has = f"{name} is installed as {locked.version or 'what has no version'}"
        raise click.UsageError(f"{has}: only that can be pinned. Install {asked[0]} first, then pin it")


def _tell_how(names: tuple[str, ...], scope: ConfigScope) -> None:
    """Print how to pin an installed skill's version: the user may have meant that."""
    try:
        lock = load_lock(find_site(open_here().workspace, scope).lock)
    except ClawftError:
        return
    installed = [name for name in names if name in lock]
    if installed:
        say(one_line(f"To pin its version instead: weft skills pin {' '.join(installed)} --version"))


@click.command("enable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@target_option
@format_option
def enable_command(names: tuple[str, ...], scope: ConfigScope) -> CommandResult:
    """Put skills back into use."""
    return _set_entries(names, "enabled", True, scope)


@click.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_skills)
@target_option
@format_option
def disable_command(names: tuple[str, ...], scope: ConfigScope) -> CommandResult:
    """Disable skills: no model sees them, and nobody can start them."""
    return _set_entries(names, "enabled", False, scope)
