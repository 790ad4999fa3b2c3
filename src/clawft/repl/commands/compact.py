"""`/compact`: a summary in place of older turns. This one asks the model."""

from typing import TYPE_CHECKING

from clawft.repl.command import SlashCommand

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["COMPACT"]

_HELP = """\
All but the last turn is summarised by the model, which makes room and saves tokens. Skills that were loaded stay whole,
and nothing is lost on disk. It happens by itself when the window fills."""


async def _run(repl: "Repl", _rest: str) -> None:
    conversation = await repl.talk()
    if sum(message.role == "user" for message in conversation.session.messages) < 2:
        repl.screen.print("There is nothing to summarise yet: the last turn always stays as it is")
        return
    await repl.compact()


COMPACT = SlashCommand("compact", "/compact", "Summarise older turns to make room", _run, _HELP)
