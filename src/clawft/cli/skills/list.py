"""`weft skills list`: every skill with its state and the reason for it. Imports little, so that it starts fast."""

from collections.abc import Iterable, Sequence
from typing import Any

import click

from clawft.app.app import App
from clawft.cli.options import dir_option, finish_installation, format_option, open_here, scope_option
from clawft.cli.output import CommandResult, say, show_diagnostics, table_lines, terminal_width
from clawft.errors import Diagnostic
from clawft.server.protocol.base import diagnostic_json
from clawft.trust.status import STATES, SkillState, SkillStatus, is_copy

NARROW = 70  # columns; below, a table has what fits and the rest stands under each row


def render_reason(state: SkillState, reasons: Sequence[Diagnostic], about: Sequence[str], look: str) -> str:
    """One line on why something is not simply ready, or what else to know of it; `look` is the command that tells more.

    Of `about`, words that name what the line stands under anyway, none is said again.
    """
    diagnostics = [reason for reason in reasons if state != "ready" or reason.severity == "warning"]
    if not diagnostics:
        return ""
    first, text = diagnostics[0], diagnostics[0].message
    for words in about:
        text = text.removeprefix(words)
    if state == "broken" and first.line:
        text = f"line {first.line}: {text}"
    more = f" (and {len(diagnostics) - 1} more: {look})" if len(diagnostics) > 1 else ""
    return text + (f". {first.hint}" if first.hint else "") + more


def render_state_counts(what: str, states: Iterable[SkillState]) -> str:
    """Return a line with the number of items in each state."""
    found = list(states)
    parts = [f"{found.count(state)} {state}" for state in reversed(STATES) if state in found]
    return f"{len(found)} {what}{'s' * (len(found) != 1)}: {', '.join(parts)}"


_MARKS = {"ready": "✓", "manual": "✓", "shadowed": "·"}


@click.command("list")
@click.option("--outdated", is_flag=True, help="What weft installed and has a newer version: the sources are asked.")
@scope_option
@format_option
@dir_option
def command(outdated: bool, scope: str, dirs: tuple[str, ...]) -> CommandResult:
    """List every skill found, with its state and why."""
    app = open_here(dirs)
    finish_installation(app, change=False)
    if outdated:
        from clawft.cli.skills.update import list_outdated

        return list_outdated(app, scope)
    skills = sorted(
        (skill for skill in app.skills if scope in ("all", skill.found.location.scope)), key=lambda one: one.name
    )
    diagnostics = (*app.config.diagnostics, *app.catalog.diagnostics)

    def make_document() -> dict[str, Any]:
        from clawft.server.views.skills import digest_of, skill_json

        listed = [skill_json(skill, digest_of(skill)) for skill in skills]
        return {"skills": listed, "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics]}

    return CommandResult("clawft.skills.list.v1", make_document, lambda: _show(app, skills, diagnostics))


def _show(app: App, skills: Sequence[SkillStatus], diagnostics: Iterable[Diagnostic]) -> None:
    skills, copies = _fold(skills)
    if skills:
        click.echo("\n".join(skill_lines(skills, terminal_width())))  # at once: each call flushes
    show_diagnostics(diagnostics, app.workspace.shorten)
    say(count_skills(skills))
    if copies:
        many = "1 copy" if copies == 1 else f"{copies} copies"
        say(f"{many} of these in the folders of other clients: weft skills why NAME tells where")
    if any(app.trust_policy.check_use(skill.found) for skill in skills if skill.found.location.scope == "dir"):
        say("They are only looked at: to run one asks first. See: weft skills trust --help")


def _fold(skills: Sequence[SkillStatus]) -> tuple[list[SkillStatus], int]:
    """Each skill once, and how many rows are not shown: copies in the folders of several clients of one scope."""
    shown: list[SkillStatus] = []
    for skill in skills:
        alike = [other for other in shown if other.name == skill.name and other.state == skill.state == "untrusted"]
        copied = bool(skill.reasons) and skill.reasons[0].code == "skill-copy"
        if not copied and not any(is_copy(skill.found, other.found) for other in alike):
            shown.append(skill)
    return shown, len(skills) - len(shown)


def skill_lines(skills: Sequence[SkillStatus], columns: int | None) -> list[str]:
    """A table of skills, with what is to be said of each, for so many columns."""
    if (columns or NARROW) >= NARROW:
        heads = ("", "NAME", "DESCRIPTION", "STATE", "SCOPE", "FORMAT")
        after = [_reason(skill) for skill in skills]
        return table_lines(heads, [_row(skill) for skill in skills], wide=2, after=after, columns=columns)
    rows = [(mark, name, state) for mark, name, _, state, *_ in map(_row, skills)]
    after = [_reason(skill) or _row(skill)[2] for skill in skills]
    return table_lines(("", "NAME", "STATE"), rows, wide=1, after=after, columns=columns)


def _row(status: SkillStatus) -> tuple[str, ...]:
    found, skill = status.found, status.found.skill
    name = f"{status.name} {skill.emoji}" if skill and skill.emoji else status.name
    kind = "legacy" if found.file.endswith("skill.json") else "SKILL.md" if found.base_dir else "command"
    mark = _MARKS.get(status.state, "✗")
    return (mark, name, skill.description if skill else "", status.state, found.location.scope, kind)


def _reason(status: SkillStatus) -> str:
    """One line on why a skill is not simply ready, or what else to know of it."""
    about = (f'skill "{status.name}" ', f"skill/{status.name}: ")
    return render_reason(status.state, status.reasons, about, f"weft skills why {status.name}")


def count_skills(skills: Sequence[SkillStatus]) -> str:
    """Return a line with the number of skills in each state."""
    if not skills:
        return "No skills found. Run: weft doctor (it lists the folders that are searched)"
    return render_state_counts("skill", (skill.state for skill in skills))
