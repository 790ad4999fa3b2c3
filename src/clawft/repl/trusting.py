"""A stranger's skill at the prompt: shown, and approved for good, for this session, or not."""

from typing import TYPE_CHECKING

from clawft.errors import ClawftError
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["ask_trust", "find_untrusted", "trust_all"]

_CHOICES = "  [a]lways as it is now, for this [s]ession, [N]o: "
_ANSWERS = ("a", "always", "s", "session", "n", "no", "")


def find_untrusted(repl: "Repl", name: str | None = None) -> list[Standing]:
    """Return the skills that wait for an approval: all, or those of one name or `scope:name`."""
    waiting = [one for one in repl.app.skills if one.state == "untrusted"]
    return [one for one in waiting if name in (None, one.name, f"{one.found.location.prefix}:{one.name}")]


async def ask_trust(repl: "Repl", standing: Standing) -> bool:
    """Show what a skill could do, ask, and keep the answer. Raises: ClawftError; EOFError, KeyboardInterrupt."""
    from clawft.cli.skills._review import review_lines
    from clawft.repl.commands._lines import print_lines

    repl.app.strangers.check_key(standing.found)
    review = repl.app.desk.review(standing.found)
    print_lines(repl, review_lines(review, repl.app.workspace.shorten))
    while (answer := (await repl.reader.ask(_CHOICES)).strip().lower()) not in _ANSWERS:
        repl.screen.print("  Please answer a, s or n")  # a `y` does not say for how long
    if answer in ("a", "always"):
        repl.app.desk.approve([review])
        repl.screen.print(f"{standing.name} is approved as it is now")
    elif answer in ("s", "session"):
        repl.app.desk.approve_for_run(review)
        repl.screen.print(f"{standing.name} is approved for this session")
    else:
        repl.app.desk.refuse(review)
        repl.screen.print(f"{standing.name} stays untrusted")
        return False
    repl.app = repl.app.reopen()
    return True


async def trust_all(repl: "Repl", standings: list[Standing]) -> None:
    """One after the other; what cannot be approved is said."""
    for one in standings:
        try:
            await ask_trust(repl, one)
        except ClawftError as error:
            repl.show_error(error)
