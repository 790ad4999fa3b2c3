"""`/trust [NAME | --all]`: skills of strangers, looked at and approved."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_lines
from clawft.repl.commands._names import offer
from clawft.repl.trusting import find_untrusted, trust_all

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["TRUST"]

_HELP = """\
What came with the project, a plugin or an installer is not used until you approve it as it is. Without a name, what
waits is listed; `/trust --all` goes through all of it. You are shown what each skill could do, and what changed since
you last approved it. `weft skills trust --list` tells what is approved, and `--revoke` takes it back."""


async def _run(repl: "Repl", rest: str) -> None:
    repl.app = repl.app.reopen()  # what is on disk now is what is approved
    waiting = find_untrusted(repl, None if rest in ("", "--all") else rest)
    if not waiting:
        named = one_line(rest) if rest != "--all" else ""
        why = f". See: /why {named}" if any(one.name == named for one in repl.app.skills) else ""
        repl.screen.print(f"Nothing{f' called {named}' if named else ''} waits for an approval{why}")
    elif rest:
        await trust_all(repl, waiting)
    else:
        print_lines(repl, [one_line(f"{one.name}: {one.reasons[0].message}") for one in waiting])
        repl.screen.print("Look at one with /trust <name>, or at all of them with /trust --all")


def _complete(repl: "Repl", partial: str) -> list[str]:
    return offer(("--all", *(one.name for one in find_untrusted(repl))), partial)


TRUST = SlashCommand("trust", "/trust [name]", "Approve skills of strangers", _run, _HELP, _complete)
