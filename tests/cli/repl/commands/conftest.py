"""What tests of slash commands share: a line typed at the prompt, and what was printed for it."""

from collections.abc import Awaitable, Callable

import pytest

from terminal import Terminal

Enter = Callable[[Terminal, str], Awaitable[str]]


@pytest.fixture
def enter() -> Enter:
    """`await enter(t, "/help")` is what stands on the screen between this line and the next prompt."""

    async def run(terminal: Terminal, line: str) -> str:
        prompts = terminal.text().count("\n>")
        terminal.type(f"{line}\r")
        await terminal.wait_for("\n>", prompts + 1)
        shown = terminal.text().rstrip().removesuffix("\n>")
        return shown.rpartition(f"\n> {line}\n")[2]

    return run
