"""`weft skills list`: every skill found, usable or not, with its state and the reason for it."""

from collections.abc import Sequence

import click

from clawft.cli._states import NARROW, count_states, tell_reason
from clawft.cli.options import dir_option, finish, format_option, open_here, scope_option
from clawft.cli.output import print_json, say, show_diagnostic, table_lines, terminal_width
from clawft.trust import Standing
from clawft.trust.state import is_copy

__all__ = ["command", "count_skills", "skill_lines"]

_MARKS = {"ready": "✓", "manual": "✓", "shadowed": "·"}


@click.command("list")
@click.option("--outdated", is_flag=True, help="What weft installed and has a newer version: the sources are asked.")
@scope_option
@format_option
@dir_option
def command(outdated: bool, scope: str, output: str, dirs: tuple[str, ...]) -> int | None:
    """List every skill found, with its state and why."""
    app = open_here(dirs)
    finish(app, change=False)
    if outdated:
        from clawft.cli.skills._outdated import list_outdated

        return list_outdated(app, scope, output)
    skills = sorted((one for one in app.skills if scope in ("all", one.found.location.scope)), key=lambda one: one.name)
    said = (*app.config.diagnostics, *app.catalog.diagnostics)
    if output == "json":
        from clawft.describe.diagnostics import to_json
        from clawft.describe.skills import digest_of, skill_json

        listed = [skill_json(one, digest_of(one)) for one in skills]
        print_json("clawft.skills.list.v1", skills=listed, diagnostics=[to_json(one) for one in said])
        return None
    skills, copies = _fold(skills)
    if skills:
        click.echo("\n".join(skill_lines(skills, terminal_width())))  # at once: each call flushes
    for diagnostic in said:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.path))
    say(count_skills(skills))
    if copies:
        many = "1 copy" if copies == 1 else f"{copies} copies"
        say(f"{many} of these in the folders of other clients: weft skills why NAME tells where")
    if any(app.strangers.object_to_use(one.found) for one in skills if one.found.location.scope == "dir"):
        say("They are only looked at: to run one asks first. See: weft skills trust --help")
    return None


def _fold(skills: Sequence[Standing]) -> tuple[list[Standing], int]:
    """Each skill once, and how many rows are not shown: copies in the folders of several clients of one scope."""
    shown: list[Standing] = []
    for one in skills:
        alike = [other for other in shown if other.name == one.name and other.state == one.state == "untrusted"]
        copied = bool(one.reasons) and one.reasons[0].code == "skill-copy"
        if not copied and not any(is_copy(one.found, other.found) for other in alike):
            shown.append(one)
    return shown, len(skills) - len(shown)


def skill_lines(skills: Sequence[Standing], columns: int | None) -> list[str]:
    """A table of skills, with what is to be said of each, for so many columns."""
    if (columns or NARROW) >= NARROW:
        heads = ("", "NAME", "DESCRIPTION", "STATE", "SCOPE", "FORMAT")
        after = [_reason(one) for one in skills]
        return table_lines(heads, [_row(one) for one in skills], wide=2, after=after, columns=columns)
    rows = [(mark, name, state) for mark, name, _, state, *_ in map(_row, skills)]
    after = [_reason(one) or _row(one)[2] for one in skills]
    return table_lines(("", "NAME", "STATE"), rows, wide=1, after=after, columns=columns)


def _row(standing: Standing) -> tuple[str, ...]:
    found, skill = standing.found, standing.found.skill
    name = f"{standing.name} {skill.emoji}" if skill and skill.emoji else standing.name
    kind = "legacy" if found.file.endswith("skill.json") else "SKILL.md" if found.base_dir else "command"
    mark = _MARKS.get(standing.state, "✗")
    return (mark, name, skill.description if skill else "", standing.state, found.location.scope, kind)


def _reason(standing: Standing) -> str:
    """One line on why a skill is not simply ready, or what else to know of it."""
    about = (f'skill "{standing.name}" ', f"skill/{standing.name}: ")
    return tell_reason(standing.state, standing.reasons, about, f"weft skills why {standing.name}")


def count_skills(skills: Sequence[Standing]) -> str:
    """How many skills there are, and of which state."""
    if not skills:
        return "No skills found. Run: weft doctor (it lists the folders that are searched)"
    return count_states("skill", (one.state for one in skills))
