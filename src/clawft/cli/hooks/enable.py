"""`weft hooks enable NAME`: a hook is put into use; a stranger's is looked at and approved first."""

import os

import click
from msgspec import structs

from clawft.app import App
from clawft.cli._complete import complete_hooks
from clawft.cli._confirm import confirm
from clawft.cli.hooks._brought import asks_line, command_line
from clawft.cli.hooks._entries import as_enabled, tell, write_enabled
from clawft.cli.hooks._given import given_lines, load_given
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, say
from clawft.cli.skills._review import review_lines
from clawft.cli.skills._scanned import finding_lines, power_lines
from clawft.describe.reviews import review_json
from clawft.discovery import Found
from clawft.discovery.locations import Location
from clawft.errors import ClawftError, Refused
from clawft.format.model import Skill
from clawft.hooking import HookRow, find_row, hook_settings, load_rows
from clawft.trust.command_hooks import CommandStanding, approve_commands
from clawft.trust.hooks import HookStanding
from clawft.trust.review import HookReview

__all__ = ["command"]


@click.command("enable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_hooks)
@click.option("--yes", "-y", is_flag=True, help="Approve what a stranger brought without being asked.")
@format_option
def command(names: tuple[str, ...], yes: bool, output: str) -> int:
    """Put hooks into use.

    Of one that came with a project, a plugin or an installer you are shown what it hears, what it may reach and what
    changed since you last approved it. When a file of it changes it waits for an approval again. A hook that belongs
    to a skill is approved with the skill.
    """
    app = open_here()
    now = load_rows(app)
    chosen = [find_row(now, name) for name in names]
    # As if they were on: what else stands in the way is looked at before anything is written.
    by_place = {(row.name, row.file): row for row in load_rows(app, as_enabled(hook_settings(app), chosen))}
    rows = [by_place[row.name, row.file] for row in chosen]
    for row in rows:
        _check(row)
    reviews = [_look_at(app, row) for row in rows if row.state == "untrusted"]
    if any(not _approve(app, one, yes=yes, output=output) for one in reviews):
        say("Nothing was approved")
        return 1
    edited = write_enabled(app, chosen, enabled=True)
    approved = [review_json(one.whole) | {"path": one.hook.folder} for one in reviews if isinstance(one, HookReview)]
    tell(rows, edited, output, approved=approved)
    return 0


def _check(row: HookRow) -> None:
    """Raises: ClawftError for a hook that cannot be put into use."""
    first = row.reasons[0] if row.reasons else None
    why = f": {first.message}" if first else ""
    if row.state == "broken":
        raise ClawftError("hook-broken", f"The hook '{row.name}' cannot be read{why}", path=row.file)
    if row.state == "blocked":
        message = f"The hook '{row.name}' is blocked by the scanner{why}"
        raise Refused(
            "hook-scan-blocked", message, path=first.path if first else row.file, hint=first.hint if first else ""
        )
    skill = row.standing.found.skill if row.standing else None
    if skill is not None and row.state in ("untrusted", "disabled"):
        message = f"The hook '{row.name}' belongs to the skill '{skill.name}', which is {row.state}"
        verb = "trust" if row.state == "untrusted" else "enable"
        raise Refused("hook-untrusted", message, path=row.file, hint=f"Run: weft skills {verb} {skill.name}")


def _look_at(app: App, row: HookRow) -> HookReview | CommandStanding:
    """What is to be seen of a stranger's hook. Raises: ClawftError."""
    if isinstance(row.standing, HookStanding):
        return app.desk.review_hook(row.standing.found)
    assert row.standing is not None
    return row.standing


def _approve(app: App, look: HookReview | CommandStanding, *, yes: bool, output: str) -> bool:
    """Show it, ask, and keep the decision. Raises: ClawftError, Refused where there is nobody to ask."""
    shown = _hook_lines(app, look) if isinstance(look, HookReview) else _command_lines(app, look)
    if output == "table" or not yes:  # nobody is asked about what they did not see
        for line in shown:
            say(line)
    name = look.hook.name if isinstance(look, HookReview) else look.name
    agreed = yes
    try:
        agreed = yes or confirm(
            f"Approve the hook {name}?", "To approve a stranger's hook", "Look at it, then pass --yes"
        )
    finally:
        if not agreed and isinstance(look, HookReview):
            app.desk.refuse(look)
    if agreed and isinstance(look, HookReview):
        app.desk.approve_hooks([look])
    elif agreed and isinstance(look, CommandStanding):
        approve_commands(look.found, look.digest, app.approvals, app.audit)  # as it was when it was shown
    return agreed


def _hook_lines(app: App, review: HookReview) -> list[str]:
    """What it is, hears and may reach, and what the scanner says of it."""
    found, hook, whole = review.hook, review.hook.hook, review.whole
    assert hook is not None
    power = structs.replace(whole.report.power, hooks=())  # that it is a hook is known
    shown = structs.replace(whole, report=structs.replace(whole.report, power=power))
    head, *rest = review_lines(shown, app.workspace.shorten)
    about = [rest.pop(0)] if hook.about.description else []
    given = load_given(app, HookStanding(found, "untrusted"), hook_settings(app))
    gets, *limits = given_lines(given, app.workspace.shorten)
    same = given.job is not None and given.asked and tuple(given.job.grants.env) == hook.wants.env
    hears = f"Hears: {', '.join(hook.events) or 'no event that happens here'}"
    return [head, *about, hears, f"Asks for: {asks_line(hook.wants)}", *([] if same else [gets]), *limits, *rest]


def _command_lines(app: App, standing: CommandStanding) -> list[str]:
    lines = [one_line(f"{standing.name} ({app.workspace.shorten(standing.file)})"), "Runs these commands:"]
    for one in standing.found.hooks:
        matcher = f" ({one.matcher})" if one.matcher else ""
        lines.append("  " + one_line(f"at {one.event}{matcher}: ") + " " + command_line(one.command))
    scripts = ", ".join(app.workspace.shorten(path) for path, _ in standing.scripts)
    lines += [one_line(f"With the scripts of the project as they are now: {scripts}")] if scripts else []
    return [*lines, *_plugin_lines(app, standing)] if standing.found.folder else lines


def _plugin_lines(app: App, standing: CommandStanding) -> list[str]:
    """What the scanner says of all that a plugin brings, which is approved as one."""
    folder = standing.found.folder
    at = Location("plugin", standing.name, os.path.dirname(folder))
    report = app.load_report(Found(at, folder, standing.file, Skill(name=standing.name)))
    verdict = "not scanned" if report.failed else f"{report.verdict} ({report.confidence:.0%} sure)"
    lines = [one_line(f"With all files of {app.workspace.shorten(folder)} as they are now"), f"Verdict: {verdict}"]
    return [*lines, *power_lines("Would use", report.power), *finding_lines(report)]
