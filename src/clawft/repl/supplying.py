"""Variables that a skill needs, asked for at the prompt without showing them (R174)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.cli.skills._variables import find_missing, store_variable
from clawft.errors import ClawftError
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["ask_missing"]


async def ask_missing(repl: "Repl", names: Iterable[str]) -> None:
    """Ask for each that nobody set; nothing typed is a no, for this session. Raises: EOFError, KeyboardInterrupt."""
    for name in names:
        try:
            await _ask_for(repl, repl.app.get_skill(name))
        except ClawftError as error:  # the skill may do without it
            repl.show_error(error)


async def _ask_for(repl: "Repl", standing: Standing) -> None:
    stored = False
    for variable in [one.name for one in find_missing(repl.app, standing)]:
        if (standing.name, variable) in repl.declined:
            continue
        question = one_line(f"{standing.name} needs {variable} (not shown; Enter skips)")
        secret = (await repl.reader.ask(f"  {question}: ", hidden=True)).strip()
        if not secret:
            repl.declined.add((standing.name, variable))
            continue
        store_variable(repl.app, standing, variable, secret)
        repl.screen.print(one_line(f"  Stored. Only programs of {standing.name} get {variable}"))
        stored = True
    if stored:
        repl.app = repl.app.reopen()
