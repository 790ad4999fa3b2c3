"""`/skills [NAME]`: every skill with its state, or all about one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand, find_command
from clawft.repl.commands._lines import print_diagnostics, print_lines
from clawft.repl.commands._names import complete_skills, find_skill
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["SKILLS"]

_HELP = "`/skills NAME` shows one of them whole. `/why NAME` tells why it is, or is not, offered to the model."


async def _run(repl: "Repl", rest: str) -> None:
    if rest:
        _show(repl, rest)
    else:
        _list(repl)


def _list(repl: "Repl") -> None:
    from clawft.cli.skills.list import count_skills, skill_lines

    app = repl.app
    skills = sorted(app.skills, key=lambda one: one.name)
    print_lines(repl, skill_lines(skills, repl.screen.width) if skills else ())
    print_diagnostics(repl, (*app.config.diagnostics, *app.catalog.diagnostics))
    print_lines(repl, [*_collisions(skills), count_skills(skills)])


def _collisions(skills: Sequence[Standing]) -> list[str]:
    """D49: a command wins over a skill of its name, which has another way in."""
    from clawft.repl.commands import COMMANDS

    names = dict.fromkeys(one.name for one in skills if one.user_may_invoke and find_command(one.name, COMMANDS))
    return [f"note: /{name} is a command; start the skill of that name with /skill {name}" for name in names]


def _show(repl: "Repl", name: str) -> None:
    from clawft.cli.skills.show import detail_lines
    from clawft.describe.skills import digest_of

    standing = find_skill(repl, name)
    if standing is not None:
        print_lines(repl, detail_lines(repl.app, standing, digest_of(standing)))
        print_lines(repl, map(one_line, _collisions([standing])))


SKILLS = SlashCommand("skills", "/skills", "List available skills", _run, _HELP, complete_skills)
