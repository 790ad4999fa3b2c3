"""Questions during a turn: approvals of tools, and variables that a skill needs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from anyio import lowlevel

from clawft.cli.output import clean, one_line
from clawft.cli.repl.view import TurnView
from clawft.cli.skills.variables import find_missing, store_variable
from clawft.errors import ClawftError
from clawft.messages import Answer, ApprovalAnswer, ApprovalNeeded
from clawft.trust.audit.log import AT_TERMINAL, LEFT, note_asked
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.cli.repl.repl import Repl


_CHOICES = "  [y]es, for this [s]ession, [a]lways here, [N]o: "
_ONCE = "  [y]es, this once, [N]o: "
_ANSWERS: dict[str, Answer] = {
    "y": "once", "yes": "once", "s": "session", "session": "session", "a": "always", "always": "always",
    "n": "no", "no": "no", "": "no",
}  # fmt: skip


class ToolApprovalPrompt:
    """Answers for one person at one terminal. To leave the question is a no; Ctrl-C also stops the turn."""

    def __init__(
        self, view: TurnView, ask: Callable[[str], Awaitable[str]], stop: Callable[[], None], *, yes: bool = False
    ) -> None:
        self._view = view
        self._ask = ask
        self._stop = stop
        self._yes = yes
        self._one = asyncio.Lock()

    async def __call__(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        async with self._one:
            await self._view.reach(event)
            if self._yes and not event.dangerous:
                self._view.note(f"  allowed by --yes: {one_line(event.question)}")
                return "flag"
            with self._view.holding():
                return await self._put(event)

    async def _put(self, event: ApprovalNeeded) -> ApprovalAnswer:
        note_asked()
        screen = self._view.screen
        first, *more = clean(event.question).splitlines() or [""]
        screen.print(f"{screen.style('?', 'yellow')} {first}")
        for line in (*more, *clean(event.reason).splitlines()):
            screen.print(f"  {line}")
        while True:
            try:
                typed = await self._ask(_ONCE if event.dangerous else _CHOICES)
            except EOFError:
                return ApprovalAnswer("no", LEFT)
            except KeyboardInterrupt:
                self._stop()
                await lowlevel.checkpoint()  # the turn ends here, before anything else is done in it
                return ApprovalAnswer("no", AT_TERMINAL)
            answer = _ANSWERS.get(typed.strip().lower())
            if answer is not None and not (event.dangerous and answer in ("session", "always")):
                return ApprovalAnswer(answer, AT_TERMINAL)
            screen.print("  Please answer y or n" if event.dangerous else "  Please answer y, s, a or n")


async def ask_skill_variables(repl: "Repl", names: Iterable[str]) -> None:
    """Ask for each that nobody set; nothing typed is a no, for this session. Raises: EOFError, KeyboardInterrupt."""
    for name in names:
        try:
            await _ask_for(repl, repl.app.get_skill(name))
        except ClawftError as error:  # the skill may do without it
            repl.show_error(error)


async def _ask_for(repl: "Repl", status: SkillStatus) -> None:
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
