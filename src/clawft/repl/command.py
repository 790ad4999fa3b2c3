"""What a slash command is (R90), and which one a line means (R91)."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from clawft.repl.repl import Repl
    from clawft.run import TurnRequest

__all__ = ["Complete", "SlashCommand", "find_command", "split_command"]

Run = Callable[["Repl", str], Awaitable["TurnRequest | None"]]
Complete = Callable[["Repl", str], Iterable[str]]


def _nothing(_repl: "Repl", _partial: str) -> Iterable[str]:
    return ()


class SlashCommand(Struct, frozen=True):
    """One command. `run` gets what follows its name; what it returns, if anything, is run as a turn."""

    name: str
    usage: str
    description: str
    run: Run
    help: str = ""
    complete: Complete = _nothing  # the words that may follow, for what is typed after the name
    aliases: tuple[str, ...] = ()


def split_command(line: str) -> tuple[str, str] | None:
    """The name and the rest of a line that begins with `/`; None for any other, and for a path such as `/etc/hosts`."""
    if not line.startswith("/") or line.startswith("//"):
        return None
    name, _, rest = line[1:].partition(" ") if " " in line else (line[1:], "", "")
    return None if "/" in name else (name.strip(), rest.strip())


def find_command(name: str, commands: Sequence[SlashCommand]) -> SlashCommand | None:
    return next((one for one in commands if name == one.name or name in one.aliases), None)
