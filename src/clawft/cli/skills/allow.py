"""`weft skills allow NAME --rule R --because "…"`: use a skill, a hook or a plugin though a rule objects."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import click

from clawft.app.app import App
from clawft.cli.completion import complete_skills
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say, say_lines, show_diagnostics
from clawft.cli.prompts import confirm
from clawft.cli.review import finding_lines, scanned_lines
from clawft.errors import NotFound, Refused
from clawft.scanner.findings import Report
from clawft.scanner.rules import load_rules
from clawft.scanner.screening import Objection, screen_report
from clawft.server.views.review import load_scanned, override_json
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.approvals import current_user
from clawft.trust.audit.log import AuditEntry, AuditFields
from clawft.trust.hooks import HookStatus
from clawft.trust.overrides import NEVER, Override
from clawft.trust.plugins import PluginStatus
from clawft.trust.status import HOOK_STATES, PLUGIN_STATES, STATES, SkillStatus

ScannedStatus = SkillStatus | HookStatus | PluginStatus
DEFAULT = "90d"
MAX_BECAUSE = 1000
_STATES = {"skill": STATES, "hook": HOOK_STATES, "plugin": PLUGIN_STATES}
_UNITS = {"h": 1, "d": 24, "w": 24 * 7}


@click.command("allow")
@click.argument("name", required=False, shell_complete=complete_skills)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="Which rule may object in vain (repeatable).")
@click.option("--because", default="", metavar="TEXT", help="Why; kept with it and shown wherever the skill is.")
@click.option("--expires", default=DEFAULT, show_default=True, help="For how long: 12h, 30d, 8w, a date, or never.")
@click.option("--list", "listing", is_flag=True, help="List what is allowed.")
@click.option("--remove", is_flag=True, help="Take it back: for RULE, or for all rules.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
@dir_option
def command(
    name: str | None,
    rules: tuple[str, ...],
    because: str,
    expires: str,
    listing: bool,
    remove: bool,
    yes: bool,
    dirs: tuple[str, ...],
) -> CommandResult | int:
    """Use a skill though a rule of the scanner objects to it.

    It holds for this rule, for the skill as it is now, and for a while: when the skill changes it is blocked again.
    A skill that could not be scanned cannot be allowed. NAME may also be a hook that `weft hooks list` shows, or the id
    of a plugin.
    """
    app = open_here(dirs)
    if listing:
        return _list(app, name)
    if not name:
        raise click.UsageError("Say which skill: weft skills allow NAME")
    status = _find(app, name)
    ids = list(dict.fromkeys(map(_rule_id, rules)))
    if remove:
        return _remove(app, status, ids)
    if not ids:
        raise click.UsageError(f"Say which rule: --rule RULE. Run: weft skills why {name}")
    if not because.strip():
        raise click.UsageError('Say why: --because "…"')
    return _allow(app, status, ids, one_line(because)[:MAX_BECAUSE], _parse_end(expires), yes=yes)


def _find(app: App, name: str) -> ScannedStatus:
    """The skill of a name, or the hook, or the plugin. Raises: NotFound."""
    try:
        return app.get_skill(name)
    except NotFound:
        others = _load_others(app)
        if name not in others:
            raise
        return others[name]


def _load_others(app: App) -> Mapping[str, HookStatus | PluginStatus]:
    """Load what else is scanned, by name: hooks, and plugins by their ID."""
    from clawft.app.plugins import load_plugin_statuses  # a skill needs none of these
    from clawft.cli.hooks.list import load_own_hooks

    plugins = {plugin.id: plugin for plugin in reversed(load_plugin_statuses(app)) if plugin.found.manifest is not None}
    return plugins | load_own_hooks(app)


def _judge_now(app: App, status: ScannedStatus) -> ScannedStatus:
    """Judge a skill, or hook, again, as it is now."""
    skills = [skill for skill in app.load_skills() if skill.found.file == status.found.file]
    if skills:
        return skills[0]
    return _load_others(app.refresh()).get(status.name, status)


def _allow(
    app: App, status: ScannedStatus, rules: Sequence[str], because: str, expires: str, *, yes: bool
) -> CommandResult | int:
    """Record what a person agrees to. Raises: ClawftError."""
    scanned = load_scanned(app, status)
    found = status.found
    digest = compute_digest(found.root).value
    objections = _objections(status, scanned.report, rules, digest)
    if scanned.report.digest != digest:
        message = f"The skill '{status.name}' changed while it was looked at"
        raise Refused("skill-changed", message, path=found.root, hint="Look at it again")
    if not yes:
        say_lines((*scanned_lines(scanned), *finding_lines(scanned.report, rules)))
        if not _ask(status.name, rules):
            say("Nothing was allowed")
            return 1
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    by, power = current_user(), scanned.report.power
    made = [
        Override(objection.rule, status.name, found.root, digest, objection.mark, because, by, at, expires, power)
        for objection in objections
    ]
    facts = {"because": because, "expires": expires}
    more: AuditFields = {"skill": status.name, "digest": digest, "detail": facts}
    about = f"scan rule for {found.root}"
    with app.audit.last_step(
        [AuditEntry("approval", about, "allow", {**more, "rule": override.rule}) for override in made]
    ) as commit:
        app.overrides.add(made, commit)
    now = _judge_now(app, status)

    def show() -> None:
        until = "" if expires == NEVER else f" until {expires[:16].replace('T', ' ')}"
        say(one_line(f"Allowed for {status.name}: {', '.join(override.rule for override in made)}{until}"))
        click.echo(one_line(f"{now.name} is {now.state}: {_STATES[now.found.kind][now.state]}"))
        show_diagnostics(now.reasons if now.state == "blocked" else (), app.workspace.shorten, indent="  ")

    allowed = [override_json(override) for override in made]
    return CommandResult("clawft.skills.allow.v1", {"allowed": allowed, "state": now.state}, show)


def _objections(status: ScannedStatus, report: Report, rules: Sequence[str], digest: str) -> list[Objection]:
    """Return the objections of the rules to this skill. Raises: Refused, NotFound."""
    screening = screen_report(report)
    if screening is not None and screening.failure:
        message = f"The skill '{status.name}' could not be scanned: {screening.failure}"
        raise Refused("scan-failed", message, hint="What nobody looked at cannot be allowed")
    if not digest:
        message = f"The skill '{status.name}' has no digest, so nothing can be bound to it"
        raise Refused("no-digest", message, path=status.found.root, hint=f"Run: weft skills show {status.name}")
    by_rule = {objection.rule: objection for objection in screening.critical} if screening else {}
    for rule in rules:
        if rule not in by_rule:
            blocking = ", ".join(by_rule) or "none"
            message = f"The rule '{rule}' does not block '{status.name}'"
            raise NotFound("rule-not-blocking", message, hint=f"What blocks it: {blocking}")
    return [by_rule[rule] for rule in rules]


def _ask(name: str, rules: Sequence[str]) -> bool:
    """Return whether a person agrees. Raises: Refused where there is nobody to ask."""
    hint = "Look at what the rule found, then pass --yes"
    return confirm(f"Use {name} though {', '.join(rules)} objects?", "To allow a skill", hint)


def _list(app: App, name: str | None) -> CommandResult:
    made = app.overrides.load()
    if name:
        folder = _find(app, name).found.root
        made = tuple(override for override in made if override.path == folder)

    def show() -> None:
        rows = [
            (override.name, override.rule, override.expires[:10], override.by, override.because) for override in made
        ]
        if rows:
            print_table(("SKILL", "RULE", "UNTIL", "BY", "BECAUSE"), rows, wide=4)
        else:
            say("Nothing is allowed against the scanner")

    return CommandResult("clawft.skills.allow.v1", {"allowed": [override_json(override) for override in made]}, show)


def _remove(app: App, status: ScannedStatus, rules: Sequence[str]) -> CommandResult:
    folder = status.found.root
    taken = [override for rule in (rules or ("",)) for override in app.overrides.remove(folder, rule)]
    for override in taken:
        subject = f"scan rule for {folder}"
        app.audit.tell(
            "approval", subject, decision="revoked", rule=override.rule, skill=override.name, digest=override.digest
        )
    return CommandResult(
        "clawft.skills.allow.v1",
        {"removed": [override_json(override) for override in taken]},
        lambda: say(
            f"Taken back: {', '.join(override.rule for override in taken)}" if taken else "Nothing was allowed for it"
        ),
        0 if taken else 1,
    )


def _rule_id(named: str) -> str:
    """The id of a rule, which may be named by an id that other scanners know it by."""
    return next((rule.id for rule in load_rules() if named == rule.id or named in rule.aliases), named)


def _parse_end(text: str) -> str:
    """Parse when an exception ends: 30d, a date, or never. Raises: UsageError."""
    now = datetime.now().astimezone()
    if text == NEVER:
        return NEVER
    length = re.fullmatch(r"(\d{1,5})([hdw])", text)
    try:
        if length:
            end = now + timedelta(hours=int(length[1]) * _UNITS[length[2]])
        else:
            end = datetime.fromisoformat(text).astimezone()
            end += timedelta(days=1) if len(text) == len("2030-01-31") else timedelta()  # all of that day
    except (ValueError, OverflowError) as error:
        raise click.UsageError(f"--expires {text}: say 12h, 30d, 8w, a date such as 2030-01-31, or never") from error
    if end <= now:
        raise click.UsageError(f"--expires {text}: that is over already")
    return end.isoformat(timespec="seconds")
