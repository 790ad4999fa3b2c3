"""Questions of tools, put in place: once, for this session, always, or no."""

from collections.abc import Awaitable, Callable

from clawft.cli.output import one_line
from clawft.messages import Answer, ApprovalNeeded
from clawft.repl.screen import Screen

__all__ = ["Asker"]

_ANSWERS: dict[str, Answer] = {
    "y": "once", "yes": "once", "s": "session", "a": "always", "n": "no", "no": "no", "": "no",
}  # fmt: skip


class Asker:
    """Answers for one person at one terminal. Leaving the question is a no."""

    def __init__(
        self, screen: Screen, ask: Callable[[str], Awaitable[str]], settle: Callable[[], Awaitable[None]]
    ) -> None:
        self._screen = screen
        self._ask = ask
        self._settle = settle  # lets what happened before the question reach the screen

    async def __call__(self, event: ApprovalNeeded) -> Answer:
        await self._settle()
        self._screen.show_status("")
        self._screen.print(f"{self._screen.style('?', 'yellow')} {one_line(event.question)}")
        if event.reason:
            self._screen.print(f"  {one_line(event.reason)}")
        while True:
            try:
                typed = await self._ask("  [y]es, for this [s]ession, [a]lways here, [N]o: ")
            except (EOFError, KeyboardInterrupt):
                return "no"
            answer = _ANSWERS.get(typed.strip().lower())
            if answer is not None:
                return answer
