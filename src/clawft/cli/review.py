"""The review of a skill or agent: what a person reads about its files, findings and hooks before approving it."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence

import click

from clawft.app.app import App
from clawft.cli.output import clean, one_line, say_lines
from clawft.config.extensions import HookPermissions
from clawft.errors import Refused
from clawft.scanner.findings import Power, Report
from clawft.scanner.reports.text import render_power, reveal
from clawft.server.views.review import ScannedSkill, is_executable, list_commands, list_programs, walk_files
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.hooks import DiscoveredHook
from clawft.skills.parse.model import Skill
from clawft.trust.approved_copies import FileChange
from clawft.trust.review import Review, ScannedReview
from clawft.trust.status import SkillStatus

NOTHING = "nothing beside its own folder and the project, which it reads"
_WORDS = {"read": "read {}", "write": "change {}", "net": "reach {}", "env": "variables {}"}


def render_requests(wants: HookPermissions) -> str:
    """Render the permissions that a HOOK.md asks for on one line."""
    return render_reach({name: getattr(wants, name) for name in _WORDS}) or NOTHING


def render_reach(parts: Mapping[str, Sequence[str]]) -> str:
    """Render what may be read, changed and reached, and which variables are visible; '' if nothing is."""
    phrases = [_WORDS[name].format(", ".join(map(one_line, values))) for name, values in parts.items() if values]
    return "; ".join(phrases)


def render_skill_hooks(hooks: Sequence[DiscoveredHook], skill: Skill | None, file: str) -> list[str]:
    """The hooks that a skill brings: each with its events and what it asks for; and the commands of its frontmatter."""
    lines = []
    for hook in hooks:
        if hook.hook is None:
            why = f": {hook.problem.message}" if hook.problem else ""
            lines.append("  " + one_line(f"{hook.name}: cannot be read{why}"))
        else:
            events = ", ".join(hook.hook.events) or "no event that happens here"
            lines += [f"  {one_line(f'{hook.name} at {events}')}", f"    asks for: {render_requests(hook.hook.wants)}"]
    for each in list_commands(skill, file):
        matcher = f" ({each.matcher})" if each.matcher else ""
        lines.append("  " + one_line(f"a command at {each.event}{matcher}: ") + " " + render_hook_command(each.command))
    return ["Brings hooks, which run by themselves:", *lines] if lines else []


def render_hook_command(command: str) -> str:
    """Render a command for the user who approves it: whole, with every line break visible."""
    return one_line(command.replace("\n", " ⏎ "))


MAX_FINDINGS = 20


def scanned_lines(scanned: ScannedSkill) -> list[str]:
    """Verdict, power and what is odd about it, to be read."""
    report = scanned.report
    sure = "nothing is known" if report.failed else f"{report.confidence:.0%} sure"
    lines = [f"Verdict: {'not scanned' if report.failed else report.verdict} ({sure})"]
    lines += power_lines("Would use", report.power)
    lines += power_lines("Does not declare", scanned.undeclared)
    if scanned.change:
        since = max(override.at for override in scanned.overrides)[:10]
        lines += power_lines(f"New since it was allowed on {since}", scanned.change.added)
        lines += power_lines(f"Gone since it was allowed on {since}", scanned.change.removed)
    return lines


def finding_lines(report: Report, rules: Sequence[str] = ()) -> list[str]:
    """The findings with the line that shows each: all but the minor ones, or those of some rules."""
    shown = [
        finding
        for finding in report.findings
        if (finding.rule in rules if rules else finding.severity not in ("low", "info"))
    ]
    lines = []
    for finding in shown[:MAX_FINDINGS]:
        lines.append(
            one_line(f"{finding.severity}[{finding.rule}] {finding.path}:{finding.line}: {reveal(finding.message)}")
        )
        lines.append(f"  > {one_line(reveal(finding.evidence))}")
    if len(shown) > MAX_FINDINGS:
        lines.append(f"… and {len(shown) - MAX_FINDINGS} more. Run: weft skills scan")
    return lines


def power_lines(title: str, power: Power) -> list[str]:
    """All of it: what is left out here would be approved unseen."""
    parts = render_power(power)
    return [f"{title}: {'; '.join(f'{label} {_list_scanned(values)}' for label, values in parts)}"] if parts else []


def _list_scanned(values: Sequence[str]) -> str:
    return ", ".join(one_line(reveal(value)) for value in values)


MAX_NAMES = 20
_SPEAKS = "beyond what it tells the model"


def review_lines(review: ScannedReview, shorten: Callable[[str], str]) -> list[str]:
    """Render where a skill is, what it could do, and what is new since it was last approved."""
    lines = short_lines(review, shorten)
    lines += power_lines("Does not declare", review.undeclared)
    if review.previous is None:
        lines += _name_files(review.found.root)
    if review.previous is not None and not review.is_same:
        lines += _change_lines(review, review.previous.at[:10])
    return [*lines, *finding_lines(review.report)]


def short_lines(review: ScannedReview, shorten: Callable[[str], str]) -> list[str]:
    """Render a review in a few lines, for one of many."""
    found, report = review.found, review.report
    sure = "nothing is known" if report.failed else f"{report.confidence:.0%} sure"
    skill = found.about
    description = f"  {one_line(skill.description)[:300]}" if skill and skill.description else ""
    verdict = f"Verdict: {'not scanned' if report.failed else report.verdict} ({sure})"
    programs = list_programs(found.root)
    nothing = "that the scanner found" if programs else _SPEAKS
    power = power_lines("Would use", report.power) or [f"Would use: nothing {nothing}"]
    power += [f"Brings programs: {', '.join(map(one_line, programs))}"] if programs else []
    hooks = render_skill_hooks(review.hooks, skill, found.file)
    return [
        one_line(f"{found.name} ({shorten(found.root)})"),
        *([description] if description else []),
        verdict,
        *power,
        *hooks,
    ]


def _name_files(folder: str) -> list[str]:
    """List the files to review, marking executable ones; [] if there are none."""
    marks = {name: "*" for name in walk_files(folder) if is_executable(folder, name)}
    names = [f"{name}{marks.get(name, '')}" for name in walk_files(folder)]
    return [f"Files: {_list_review(names)}{' (*: executable)' if marks else ''}"] if names else []


def _list_review(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(one_line, names[:MAX_NAMES])) + more


def _change_lines(review: ScannedReview, since: str) -> list[str]:
    lines = power_lines(f"New since {since}", review.power.added)
    lines += power_lines(f"Gone since {since}", review.power.removed)
    if not review.power:
        lines.append(f"Power: the same as on {since}")
    if review.files is None:
        return [*lines, f"Files: what they were on {since} was not kept"]
    lines.append(f"Files that changed since {since}: {len(review.files)}")
    for file in review.files:
        lines += file_lines(file)
    return lines


def file_lines(change: FileChange) -> list[str]:
    """One file that is not what it was, with the lines that differ."""
    return [f"  {change.what}: {one_line(change.path)}", *(f"    {clean(line)}" for line in change.diff)]


def agent_lines(review: Review[DiscoveredAgent], shorten: Callable[[str], str]) -> list[str]:
    """An agent: its tools, and all of its text, or all that is new in it since it was last approved."""
    found, before, power = review.found, review.previous, review.report.power
    tools = "all tools" if power.tools == ("*",) else ", ".join(power.tools) or "no tools"
    lines = [one_line(f"agent {found.name} ({shorten(found.file)}): {tools}")]
    if before is not None:
        lines += power_lines(f"New since {before.at[:10]}", review.power.added)
        lines += power_lines(f"Gone since {before.at[:10]}", review.power.removed)
    if review.files and review.files[0].is_whole:
        return lines + file_lines(review.files[0])
    return [*lines, *text_lines(review.content)]


def text_lines(content: bytes) -> list[str]:
    """All lines of a file that would speak to a model. Space that would push some of them out of sight is counted."""
    text = clean(content.decode("utf-8", "replace"))
    text = re.sub(r"\n(?:[^\S\n]*\n){4,}", lambda match: f"\n({match[0].count(chr(10)) - 1} empty lines)\n", text)
    text = re.sub(r"[^\S\n]{80,}", lambda match: f" ({len(match[0])} spaces) ", text)
    return [f"  {line}" for line in text.split("\n")]


def ask_approval(app: App, status: SkillStatus, *, yes: bool) -> None:
    """Have a person approve a skill, for good or for this run. Raises: ClawftError, Refused if they do not."""
    app.trust_policy.check_key(status.found)
    review = app.reviewer.review(status.found)
    where = app.workspace.shorten(status.found.folder)
    refusal = f"The skill '{status.name}' of {where} is not approved"
    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            app.reviewer.refuse(review)
            hint = "To use it once, put --yes before its name"
            if (objection := app.trust_policy.check_use(status.found)) is not None:
                hint = f"{objection.hint}. {hint}"
                refusal = f"The skill '{status.name}' of {where}: {objection.message}"
            raise Refused("skill-untrusted", refusal, path=status.found.file, hint=hint)
        say_lines(review_lines(review, app.workspace.shorten))
        answer = click.prompt(
            one_line(f"Use {status.name}? [a]lways as it is now, [o]nce, [n]o"),
            type=click.Choice(["a", "o", "n"]),
            default="n",
            show_choices=False,
            err=True,
        )
        if answer == "n":
            app.reviewer.refuse(review)
            raise Refused("skill-untrusted", refusal)
        if answer == "a":
            app.reviewer.approve([review])
            return
    app.reviewer.approve_for_run(review)
