"""`/skills`, `/skill`, `/why` and `/trust`: skills and their approvals."""

from collections.abc import Iterable, Sequence

from clawft.agent.run_request import TurnRequest
from clawft.cli.output import one_line
from clawft.cli.repl.command import complete_names, find_skill, print_diagnostics, print_lines
from clawft.cli.repl.commands import find_command
from clawft.cli.repl.context import ReplContext
from clawft.cli.repl.skill_approval import ask_skill_approvals, find_unapproved_skills
from clawft.cli.skills.list import count_skills, skill_lines
from clawft.cli.skills.show import detail_lines
from clawft.cli.skills.status import why_lines
from clawft.server.views.skills import digest_of
from clawft.trust.status import SkillStatus


async def run_skills(repl: ReplContext, rest: str) -> None:
    if rest:
        _show(repl, rest)
    else:
        _list(repl)


def _list(repl: ReplContext) -> None:
    app = repl.app
    skills = sorted(app.skills, key=lambda one: one.name)
    print_lines(repl, skill_lines(skills, repl.screen.width) if skills else ())
    print_diagnostics(repl, (*app.config.diagnostics, *app.catalog.diagnostics))
    print_lines(repl, [*_collisions(skills), count_skills(skills)])


def _collisions(skills: Sequence[SkillStatus]) -> list[str]:
    """Return notes for skills that have the name of a command: the command wins, and /skill starts the skill."""
    names = dict.fromkeys(skill.name for skill in skills if skill.user_may_invoke and find_command(skill.name))
    return [f"note: /{name} is a command; start the skill of that name with /skill {name}" for name in names]


def _show(repl: ReplContext, name: str) -> None:
    status = find_skill(repl, name)
    if status is not None:
        print_lines(repl, detail_lines(repl.app, status, digest_of(status)))
        print_lines(repl, map(one_line, _collisions([status])))


async def run_skill(repl: ReplContext, rest: str) -> TurnRequest | None:
    name, _, arguments = rest.partition(" ")
    if not name:
        repl.screen.print("Usage: /skill <name> [args]. Run /skills to see available skills.")
        return None
    if find_skill(repl, name) is None:
        return None
    return TurnRequest(arguments.strip(), model=repl.model, skill=name)


def complete_skill(repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names((skill.name for skill in repl.app.skills if skill.user_may_invoke), partial)


async def run_why(repl: ReplContext, rest: str) -> None:
    if not rest:
        repl.screen.print("Usage: /why <name>. Run /skills to see available skills.")
        return
    chosen = find_skill(repl, rest)
    if chosen is not None:
        same = [chosen] if ":" in rest else [skill for skill in repl.app.skills if skill.name == chosen.name]
        print_lines(repl, [line for skill in same for line in why_lines(skill, repl.app)])


async def run_trust(repl: ReplContext, rest: str) -> None:
    repl.app.refresh()  # what is on disk now is what is approved
    waiting = find_unapproved_skills(repl, None if rest in ("", "--all") else rest)
    if not waiting:
        named = one_line(rest) if rest != "--all" else ""
        why = f". See: /why {named}" if any(skill.name == named for skill in repl.app.skills) else ""
        repl.screen.print(f"Nothing{f' called {named}' if named else ''} waits for an approval{why}")
    elif rest:
        await ask_skill_approvals(repl, waiting)
    else:
        print_lines(repl, [one_line(f"{skill.name}: {skill.reasons[0].message}") for skill in waiting])
        repl.screen.print("Look at one with /trust <name>, or at all of them with /trust --all")


def complete_trust(repl: ReplContext, partial: str) -> list[str]:
    return complete_names(("--all", *(skill.name for skill in find_unapproved_skills(repl))), partial)


def complete_skills(repl: ReplContext, partial: str) -> list[str]:
    """Every skill, usable or not."""
    return complete_names((skill.name for skill in repl.app.skills), partial)
