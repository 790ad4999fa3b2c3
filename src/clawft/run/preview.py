"""What a turn would send, without sending it: the same stages up to the model, on a draft of the session."""

from collections.abc import Callable

from clawft.format.model import Agent
from clawft.messages import Event
from clawft.providers.request import Request
from clawft.run.ask import prepare
from clawft.run.assemble import choose_tools
from clawft.run.conversation import Conversation
from clawft.run.pipeline import run_until_transport
from clawft.run.runtime import Runtime
from clawft.run.transport import make_request
from clawft.run.turn import Phase, Turn, TurnRequest, run_inserted
from clawft.tools.registry import Registry

__all__ = ["list_tools", "preview_turn"]


async def preview_turn(
    runtime: Runtime, agent: Agent, key: str, request: TurnRequest, take: Callable[[Event], None]
) -> tuple[Turn, Request]:
    """The turn as it stands before the model is called, and the request. Raises: ClawftError."""
    with runtime.sessions.open_draft(key or "preview", cwd=runtime.workspace.cwd) as session:
        turn = Turn(Conversation(runtime, session, agent), request, take)
        # Hooks that change the prompt are asked, or it would be another one. No message is sent, so none is told of.
        turn.is_preview = True
        await run_until_transport(turn)
        return turn, await prepare(turn, make_request(turn))


async def list_tools(conversation: Conversation, take: Callable[[Event], None]) -> Registry:
    """The tools that the next turn would have; servers are started for it, as a turn does."""
    turn = Turn(conversation, TurnRequest(""), take)
    await run_inserted(turn, Phase.PRE_ASSEMBLE)
    return choose_tools(conversation)
