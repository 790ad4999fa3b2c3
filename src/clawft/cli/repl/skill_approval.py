"""Questions about a skill before it is used: its approval, and the variables that its programs need."""

from collections.abc import Iterable

from clawft.cli.output import one_line
from clawft.cli.repl.command import print_lines
from clawft.cli.repl.context import ReplContext
from clawft.cli.skills.variables import find_missing, store_variable
from clawft.errors import ClawftError
from clawft.trust.status import SkillStatus

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
