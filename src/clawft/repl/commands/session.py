"""`/session`: the conversation that goes on, in numbers."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.errors import NotFound
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_facts
from clawft.repl.commands.model import current_model

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["SESSION"]

_HELP = "Tokens are what the turns of this session used; /cost tells of today, too."


async def _run(repl: "Repl", _rest: str) -> None:
    who = [("Agent", one_line(repl.agent.name)), ("Model", current_model(repl))]
    try:
        kept = repl.app.sessions.read(repl.key) if repl.key else None
    except NotFound:
        kept = None
    if kept is None or not kept.messages:
        repl.screen.print("No session yet: it begins with your first message")
        print_facts(repl, who)
        return
    _, usd = (await repl.runtime()).ledger.spent(session=repl.key)
    usage = kept.usage
    facts = [
        ("Session", one_line(repl.key)),
        ("Started", kept.header.created[:16].replace("T", " ")),
        ("Turns", str(len(kept.turns))),
        ("Messages", str(len(kept.messages))),
        ("Tokens", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"),
        ("Cost", f"${usd:.4f}" if usd else ""),
        ("File", one_line(repl.app.workspace.shorten(kept.path))),
    ]
    print_facts(repl, [*facts, *who])


SESSION = SlashCommand("session", "/session", "Show session info", _run, _HELP)
