"""Questions during a turn: approvals of tools, and variables that a skill needs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from anyio import lowlevel

from clawft.cli.output import clean, one_line
from clawft.cli.repl.view import TurnView
from clawft.messages import Answer, ApprovalAnswer, ApprovalNeeded
from clawft.trust.audit.log import AT_TERMINAL, LEFT, note_asked

if TYPE_CHECKING:
    pass


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
