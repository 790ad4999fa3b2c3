"""`/processes`: the commands of this conversation that run in the background."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import clean, one_line, table_lines
from clawft.cli.repl.command import complete_names, print_lines
from clawft.cli.repl.context import ReplContext

if TYPE_CHECKING:
    from clawft.sandbox.background import BackgroundProcess, BackgroundProcesses

_SHOWN_BYTES = 4096


async def run_processes(repl: ReplContext, rest: str) -> None:
    processes = await _list(repl)
    words = rest.split()
    if not words:
        _print_table(repl, processes)
        return
    number = words[-1]
    process = processes.find(int(number)) if processes and number.isdecimal() else None
    if len(words) > 2 or (len(words) == 2 and words[0] != "end"):
        repl.screen.print("Usage: /processes [N] or /processes end N")
    elif process is None:
        repl.screen.print(f"There is no process {one_line(number)}. /processes lists them")
    elif len(words) == 2:
        await process.end()
        repl.screen.print(f"Process {process.number}: {process.state}")
    else:
        print_lines(repl, [clean(process.log.read_end(_SHOWN_BYTES)).rstrip("\n"), f"[{process.state}]"])


async def _list(repl: ReplContext) -> "BackgroundProcesses | None":
    """The processes of the conversation; None before it has begun."""
    if not repl.key:
        return None
    conversation = await repl.talk()
    return conversation.runtime.commands.get(conversation.account).processes


def _print_table(repl: ReplContext, processes: "Iterable[BackgroundProcess] | None") -> None:
    rows = [
        (str(process.number), process.state, f"{time.time() - process.started:.0f} s", one_line(process.command))
        for process in processes or ()
    ]
    if not rows:
        repl.screen.print("Nothing runs in the background")
        return
    print_lines(repl, table_lines(("NO", "STATE", "FOR", "COMMAND"), rows, wide=3, columns=repl.screen.width))


def complete_processes(_repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names(("end",), partial)
