"""`/skills`, `/skill`, `/why` and `/trust`: skills and their approvals."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.cli.repl.command import (
    SlashCommand,
    complete_names,
    complete_skills,
    find_command,
    find_skill,
    print_diagnostics,
    print_lines,
)
from clawft.cli.repl.context import ReplContext
from clawft.cli.skills.list import count_skills, skill_lines
from clawft.cli.skills.variables import find_missing, store_variable
from clawft.errors import ClawftError
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.agent.run_request import TurnRequest


_CHOICES = "  [a]lways as it is now, for this [s]ession, [N]o: "
_ANSWERS = ("a", "always", "s", "session", "n", "no", "")


def find_unapproved_skills(repl: ReplContext, name: str | None = None) -> list[SkillStatus]:
    """Return the skills that wait for an approval: all, or those of one name or `scope:name`."""
    waiting = [skill for skill in repl.app.skills if skill.state == "untrusted"]
    return [skill for skill in waiting if name in (None, skill.name, f"{skill.found.location.prefix}:{skill.name}")]


async def ask_skill_approval(repl: ReplContext, status: SkillStatus) -> bool:
    """Show what a skill could do, ask, and keep the answer. Raises: ClawftError; EOFError, KeyboardInterrupt."""
    from clawft.cli.review import review_lines

    repl.app.trust_policy.check_key(status.found)
    review = repl.app.reviewer.review(status.found)
    print_lines(repl, review_lines(review, repl.app.workspace.shorten))
    while (answer := (await repl.reader.ask(_CHOICES)).strip().lower()) not in _ANSWERS:
        repl.screen.print("  Please answer a, s or n")  # a `y` does not say for how long
    if answer in ("a", "always"):
        repl.app.reviewer.approve([review])
        repl.screen.print(f"{status.name} is approved as it is now")
    elif answer in ("s", "session"):
        repl.app.reviewer.approve_for_run(review)
        repl.screen.print(f"{status.name} is approved for this session")
    else:
        repl.app.reviewer.refuse(review)
        repl.screen.print(f"{status.name} stays untrusted")
        return False
    repl.app.refresh()
    return True


async def ask_skill_approvals(repl: ReplContext, statuses: list[SkillStatus]) -> None:
    """One after the other; what cannot be approved is said."""
    for status in statuses:
        try:
            await ask_skill_approval(repl, status)
        except ClawftError as error:
            repl.show_error(error)


async def ask_skill_variables(repl: ReplContext, names: Iterable[str]) -> None:
    """Ask for each that nobody set; nothing typed is a no, for this session. Raises: EOFError, KeyboardInterrupt."""
    for name in names:
        try:
            await _ask_for(repl, repl.app.get_skill(name))
        except ClawftError as error:  # the skill may do without it
            repl.show_error(error)


async def _ask_for(repl: ReplContext, status: SkillStatus) -> None:
    stored = False
    for variable in [missing.name for missing in find_missing(repl.app, status)]:
        if (status.name, variable) in repl.declined:
            continue
        question = one_line(f"{status.name} needs {variable} (not shown; Enter skips)")
        secret = (await repl.reader.ask(f"  {question}: ", hidden=True)).strip()
        if not secret:
            repl.declined.add((status.name, variable))
            continue
        store_variable(repl.app, status, variable, secret)
        repl.screen.print(one_line(f"  Stored. Only programs of {status.name} get {variable}"))
        stored = True
    if stored:
        repl.app.refresh()


_SKILLS_HELP = "`/skills NAME` shows one of them whole. `/why NAME` tells why it is, or is not, offered to the model."


async def _run_skills(repl: ReplContext, rest: str) -> None:
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
    from clawft.cli.repl.commands import COMMANDS

    names = dict.fromkeys(
        skill.name for skill in skills if skill.user_may_invoke and find_command(skill.name, COMMANDS)
    )
    return [f"note: /{name} is a command; start the skill of that name with /skill {name}" for name in names]


def _show(repl: ReplContext, name: str) -> None:
    from clawft.cli.skills.show import detail_lines
    from clawft.server.views.skills import digest_of

    status = find_skill(repl, name)
    if status is not None:
        print_lines(repl, detail_lines(repl.app, status, digest_of(status)))
        print_lines(repl, map(one_line, _collisions([status])))


SKILLS = SlashCommand("skills", "/skills", "List available skills", _run_skills, _SKILLS_HELP, complete_skills)


_SKILL_HELP = """\
What follows the name are its arguments; quotes hold words together. `/NAME args` does the same, unless a command has
that name. Several skills can stand at the start of a message: `/a /b do it`. A shadowed skill is started as
SCOPE:NAME."""


async def _run_skill(repl: ReplContext, rest: str) -> "TurnRequest | None":
    from clawft.agent.run_request import TurnRequest

    name, _, arguments = rest.partition(" ")
    if not name:
        repl.screen.print("Usage: /skill <name> [args]. Run /skills to see available skills.")
        return None
    if find_skill(repl, name) is None:
        return None
    return TurnRequest(arguments.strip(), model=repl.model, skill=name)


def _complete_skill(repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names((skill.name for skill in repl.app.skills if skill.user_may_invoke), partial)


SKILL = SlashCommand("skill", "/skill <name> [args]", "Invoke a skill", _run_skill, _SKILL_HELP, _complete_skill)


_WHY_HELP = "All skills of the name are told, also those that another one hides; `SCOPE:NAME` is one of them."


async def _run_why(repl: ReplContext, rest: str) -> None:
    from clawft.cli.skills.status import why_lines

    if not rest:
        repl.screen.print("Usage: /why <name>. Run /skills to see available skills.")
        return
    chosen = find_skill(repl, rest)
    if chosen is not None:
        same = [chosen] if ":" in rest else [skill for skill in repl.app.skills if skill.name == chosen.name]
        print_lines(repl, [line for skill in same for line in why_lines(skill, repl.app)])


WHY = SlashCommand("why", "/why <name>", "Tell why a skill is offered or not", _run_why, _WHY_HELP, complete_skills)


_TRUST_HELP = """\
What came with the project, a plugin or an installer is not used until you approve it as it is. Without a name, what
waits is listed; `/trust --all` goes through all of it. You are shown what each skill could do, and what changed since
you last approved it. `weft skills trust --list` tells what is approved, and `--revoke` takes it back."""


async def _run_trust(repl: ReplContext, rest: str) -> None:
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


def _complete_trust(repl: ReplContext, partial: str) -> list[str]:
    return complete_names(("--all", *(skill.name for skill in find_unapproved_skills(repl))), partial)


TRUST = SlashCommand("trust", "/trust [name]", "Approve skills of strangers", _run_trust, _TRUST_HELP, _complete_trust)
