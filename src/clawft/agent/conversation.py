"""Conversations: open one on a runtime, look at the turn that would come next, and make what a fork inherits."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial

from clawft.agent.answer import make_request
from clawft.agent.lineage import Lineage, begin_lineage, check_lineage
from clawft.agent.loop import run_until_transport
from clawft.agent.model_call import prepare_request
from clawft.agent.prompt import choose_tools
from clawft.agent.providers.request import ModelRequest
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Approve, Conversation, Runtime, Turn, run_inserted
from clawft.agent.sessions import OpenSession
from clawft.agent.text_limits import add_limits_above, is_bound, list_prompted, list_text_limits
from clawft.agent.tool_permission import ask_about_command, authority_of, list_active
from clawft.agent.tools.skillset import Skillset
from clawft.agent.tools.steps import TurnSteps
from clawft.agent.tools.tool import ToolRegistry
from clawft.contracts import Phase
from clawft.messages import Event
from clawft.skills.parse.model import Agent


@asynccontextmanager
async def open_conversation(
    runtime: Runtime,
    agent: Agent,
    *,
    key: str = "",
    approve: Approve | None = None,
    parent: Conversation | None = None,
    lineage: Lineage | None = None,
    steps: TurnSteps | None = None,
) -> AsyncIterator[Conversation]:
    """Open the session of a key, new or continued; its conversation is the only writer while it is open.

    With a `lineage` alone it is a fork that another process asked for. Raises: ClawftError.
    """
    if lineage is not None and parent is None:
        check_lineage(lineage, agent, runtime.workspace.project, runtime.config.agents.fork.max_depth)
    turn_steps = steps or (parent.steps.below() if parent else TurnSteps())
    with turn_steps.open_session(runtime.sessions, key or new_key(datetime.now()), runtime.workspace.cwd) as session:
        conversation = make_conversation(runtime, session, agent, approve, parent, lineage)
        conversation.steps = turn_steps
        async with runtime.commands.hold(conversation.account):
            yield conversation


def make_conversation(
    runtime: Runtime,
    session: OpenSession,
    agent: Agent,
    approve: Approve | None = None,
    parent: Conversation | None = None,
    lineage: Lineage | None = None,
) -> Conversation:
    """Make the conversation of an open session."""
    own = lineage_of(parent) if parent else begin_lineage(session.key, runtime.workspace.project, runtime.default_mode)
    conversation = Conversation(runtime, session, agent, lineage or own, approve, parent)
    conversation.skills = Skillset(
        runtime.skills.load,
        runtime.skills.load_usable,
        runtime.dynamic(
            lambda: authority_of(conversation), lambda: conversation.steps, partial(ask_about_command, conversation)
        ),
        session_id=session.key,
        refresh_on_call=_refreshes_on_call(runtime),
        statuses=parent.skills.statuses if parent else None,
        activated=session.activated,
    )
    conversation.skills.is_bound = partial(is_bound, conversation)
    add_limits_above(conversation)
    return conversation


def _refreshes_on_call(runtime: Runtime) -> bool:
    written = runtime.environ.get("SKILLS_REFRESH_ON_CALL", "").lower()
    return written not in ("0", "false", "no", "off") if written else runtime.config.skills.prompt.refresh_on_call


def lineage_of(conversation: Conversation) -> Lineage:
    """Return the lineage that a fork of a conversation inherits now."""
    lineage = conversation.lineage
    return Lineage(
        depth=conversation.depth + 1,
        account=conversation.account,
        turn=conversation.turn,
        project=lineage.project,
        mode=conversation.effective_mode,
        above=conversation.agents,
        active=list_active(conversation),
        prompted=list_prompted(conversation),
        loaded=tuple(dict.fromkeys((*lineage.loaded, *conversation.skills.loaded))),
        read_texts=tuple(list_text_limits(conversation)),
        approved=tuple(sorted(conversation.approved)),
        forks=conversation.forks,
        max_tokens=None,
    )


def new_key(now: datetime, mark: str = "") -> str:
    """A key for a session that nobody named: it sorts by time, and is short enough to type.

    Where many begin in the same second, a `mark` keeps them apart.
    """
    return f"{now:%Y%m%d-%H%M%S}-{mark or uuid.uuid4().hex[:4]}"


async def preview_turn(
    runtime: Runtime, agent: Agent, key: str, request: TurnRequest, take: Callable[[Event], None]
) -> tuple[Turn, ModelRequest]:
    """The turn as it stands before the model is called, and the request. Raises: ClawftError."""
    with runtime.sessions.open_draft(key or "preview", cwd=runtime.workspace.cwd) as session:
        turn = Turn(make_conversation(runtime, session, agent), request, take)
        # Hooks that change the prompt run, or the preview would differ. No message is sent, so no message hook runs.
        turn.is_preview = True
        await run_until_transport(turn)
        return turn, await prepare_request(turn, make_request(turn))


async def list_tools(conversation: Conversation, take: Callable[[Event], None]) -> ToolRegistry:
    """The tools that the next turn would have; servers are started for it, as a turn does."""
    turn = Turn(conversation, TurnRequest(""), take)
    await run_inserted(turn, Phase.PRE_ASSEMBLE)
    return choose_tools(conversation)
