"""`weft hooks enable` and `disable`: review and approve hooks, and turn them on or off."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec import structs

from clawft.app.app import App
from clawft.app.hooks import AnyHookStatus, find_hook, load_all_hooks
from clawft.cli.config_entries import write_switches
from clawft.cli.hooks.list import complete_hooks, row_json
from clawft.cli.hooks.show import load_inputs, render_inputs
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say, say_lines, show_diagnostics
from clawft.cli.prompts import confirm
from clawft.cli.review import finding_lines, power_lines, render_hook_command, render_requests, review_lines
from clawft.config.changes import EditedConfig
from clawft.config.extensions import HookEntry, HooksSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.server.views.review import review_json
from clawft.skills.discovery.hooks import DiscoveredHook
from clawft.skills.discovery.plugins import DiscoveredPlugin
from clawft.trust.approvals import Approval
from clawft.trust.command_hooks import KIND, CommandHooksStatus, approve_commands
from clawft.trust.hooks import HookStatus, get_hook_entry
from clawft.trust.review import Review
from clawft.trust.status import HOOK_STATES


def find_config_key(row: AnyHookStatus, settings: HooksSettings) -> str:
    """Under which name the config has a hook: its own, or the key that it gives itself."""
    if not isinstance(row, HookStatus) or row.name in settings.entries:
        return row.name
    entry, hook = get_hook_entry(row.found, settings), row.found.hook
    return hook.key if hook and settings.entries.get(hook.key) is entry else row.name


def as_enabled(settings: HooksSettings, rows: Sequence[AnyHookStatus]) -> HooksSettings:
    """The settings as if nothing turned these hooks off."""
    entries = dict(settings.entries)
    for row in rows:
        key = find_config_key(row, settings)
        entries[key] = structs.replace(entries.get(key, HookEntry()), enabled=True)
    return structs.replace(settings, enabled=True, claude=True, entries=entries)


def write_enabled(app: App, rows: Sequence[AnyHookStatus], *, enabled: bool) -> EditedConfig:
    """Have hooks on or off. Raises: ClawftError."""
    settings = app.own_config.hooks
    return write_switches(app, "hooks", (find_config_key(row, settings) for row in rows), enabled=enabled)


def report_hook_changes(meant: Sequence[AnyHookStatus], edited: EditedConfig | None, **more: Any) -> CommandResult:
    """The current state of hooks and what was written to the config."""
    app = open_here()
    now = {(row.name, row.file): row for row in load_all_hooks(app)}
    rows = [now.get((row.name, row.file), row) for row in meant]
    file_fields = {"path": edited.file if edited else None, "changed": edited is not None and edited.changed}

    def show() -> None:
        for row in rows:
            click.echo(one_line(f"{row.name} is {row.state}: {HOOK_STATES.get(row.state, '')}"))
            show_diagnostics(row.reasons if row.state != "ready" else (), indent="  ")
        if edited is not None and edited.changed:
            say(one_line(f"Written to {app.workspace.shorten(edited.file)}"))

    return CommandResult(
        "clawft.hooks.entries.v1", {"hooks": [row_json(row) for row in rows], **file_fields, **more}, show
    )


@click.command("enable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_hooks)
@click.option("--yes", "-y", is_flag=True, help="Approve what a stranger brought without being asked.")
@format_option
def enable_command(names: tuple[str, ...], yes: bool) -> CommandResult | int:
    """Put hooks into use.

    Of one that came with a project, a plugin or an installer you are shown what it hears, what it may reach and what
    changed since you last approved it. When a file of it changes it waits for an approval again. A hook that belongs
    to a skill is approved with the skill.
    """
    app = open_here()
    now = load_all_hooks(app)
    chosen = [find_hook(now, name) for name in names]
    # As if they were on: what else stands in the way is looked at before anything is written.
    by_place = {(row.name, row.file): row for row in load_all_hooks(app, as_enabled(app.own_config.hooks, chosen))}
    rows = [by_place[row.name, row.file] for row in chosen]
    for row in rows:
        _check(row)
    reviews = [
        app.reviewer.review_hook(row.found) if isinstance(row, HookStatus) else row
        for row in rows
        if row.state == "untrusted"
    ]
    if any(not _approve(app, review, yes=yes) for review in reviews):
        say("Nothing was approved")
        return 1
    edited = write_enabled(app, chosen, enabled=True)
    approved = [review_json(review) | {"path": review.place} for review in reviews if isinstance(review, Review)]
    return report_hook_changes(rows, edited, approved=approved)


def _check(row: AnyHookStatus) -> None:
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
    skill = row.found.skill
    if skill is not None and row.state in ("untrusted", "disabled"):
        message = f"The hook '{row.name}' belongs to the skill '{skill.name}', which is {row.state}"
        verb = "trust" if row.state == "untrusted" else "enable"
        raise Refused("hook-untrusted", message, path=row.file, hint=f"Run: weft skills {verb} {skill.name}")


def _approve(app: App, look: Review[DiscoveredHook] | CommandHooksStatus, *, yes: bool) -> bool:
    """Show it, ask, and keep the decision. Raises: ClawftError, Refused where there is nobody to ask."""
    shown = hook_review_lines(app, look) if isinstance(look, Review) else command_review_lines(app, look)
    if not (yes and is_json_asked()):  # nobody is asked about what they did not see
        say_lines(shown)
    agreed = yes
    try:
        agreed = yes or confirm(
            f"Approve the hook {look.found.name}?", "To approve a stranger's hook", "Look at it, then pass --yes"
        )
    finally:
        if not agreed and isinstance(look, Review):
            app.reviewer.refuse(look)
    if agreed and isinstance(look, Review):
        app.reviewer.approve([look])
    elif agreed and isinstance(look, CommandHooksStatus):
        approve_commands(look.found, look.digest, app.approvals, app.audit)  # as it was when it was shown
    return agreed


def hook_review_lines(app: App, review: Review[DiscoveredHook]) -> list[str]:
    """Render what a hook is, which events it handles, what it may reach, and what the scanner found."""
    found, hook = review.found, review.found.hook
    assert hook is not None
    power = structs.replace(review.report.power, hooks=())  # that it is a hook is known
    shown = structs.replace(review, report=structs.replace(review.report, power=power))
    head, *rest = review_lines(shown, app.workspace.shorten)
    about = [rest.pop(0)] if hook.about.description else []
    inputs = load_inputs(app, HookStatus(found, "untrusted"), app.own_config.hooks)
    gets, *limits = render_inputs(inputs, app.workspace.shorten)
    same = inputs.job is not None and inputs.asked and tuple(inputs.job.grants.env) == hook.wants.env
    matches_event = f"Hears: {', '.join(hook.events) or 'no event that happens here'}"
    return [
        head,
        *about,
        matches_event,
        f"Asks for: {render_requests(hook.wants)}",
        *([] if same else [gets]),
        *limits,
        *rest,
    ]


def command_review_lines(app: App, status: CommandHooksStatus) -> list[str]:
    """Render every command of a settings file, when each runs, and the scripts that they start."""
    lines = [one_line(f"{status.name} ({app.workspace.shorten(status.file)})"), "Runs these commands:"]
    for hook in status.found.hooks:
        matcher = f" ({hook.matcher})" if hook.matcher else ""
        lines.append("  " + one_line(f"at {hook.event}{matcher}: ") + " " + render_hook_command(hook.command))
    scripts = ", ".join(app.workspace.shorten(path) for path, _ in status.scripts)
    lines += [one_line(f"With the scripts of the project as they are now: {scripts}")] if scripts else []
    return [*lines, *_plugin_lines(app, status)] if status.found.folder else lines


def _plugin_lines(app: App, status: CommandHooksStatus) -> list[str]:
    """Render what the scanner found in a whole plugin, which is approved as one."""
    folder = status.found.folder
    report = app.load_report(DiscoveredPlugin("plugin", folder, status.file))
    verdict = "not scanned" if report.failed else f"{report.verdict} ({report.confidence:.0%} sure)"
    lines = [one_line(f"With all files of {app.workspace.shorten(folder)} as they are now"), f"Verdict: {verdict}"]
    return [*lines, *power_lines("Would use", report.power), *finding_lines(report)]


@click.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_hooks)
@click.option("--revoke", is_flag=True, help="Take back the approval instead: it is asked for again.")
@format_option
def disable_command(names: tuple[str, ...], revoke: bool) -> CommandResult:
    """Take hooks out of use: they hear nothing any more. `weft hooks enable` puts them back."""
    app = open_here()
    found = load_all_hooks(app)
    rows = [find_hook(found, name) for name in names]
    if not revoke:
        return report_hook_changes(rows, write_enabled(app, rows, enabled=False))
    known = app.approvals.load()
    meant = [approval for approval in known for row in rows if _covers(approval, row)]
    lost = next((row for row in rows if not any(_covers(approval, row) for approval in known)), None)
    if lost is not None:
        hint = _whose(lost)
        raise NotFound("approval-not-found", one_line(f"Nothing is approved as the hook '{lost.name}'"), hint=hint)
    taken = app.reviewer.revoke(meant)
    for approval in () if is_json_asked() else taken:
        click.echo(one_line(f"Taken back: the approval of {approval.name}"))
    return report_hook_changes(rows, None, revoked=[approval.path for approval in taken])


def _covers(approval: Approval, row: AnyHookStatus) -> bool:
    if isinstance(row, HookStatus):
        return (approval.kind, approval.path) == ("hook", row.found.folder)
    return (approval.kind, approval.path) == (KIND, row.file)


def _whose(row: AnyHookStatus) -> str:
    """Return the command that turns off a hook which was not approved by itself."""
    skill = row.found.skill
    return f"Run: weft skills trust --revoke {skill.name}" if skill else f"Run: weft hooks disable {row.name}"
