"""The lineage of a fork: what it inherits from its parent, as a value.

A fork in this process and one started later in another process are made from the same value, so both are limited alike:
by the agents above and the skills active in them, as their files were then, and by the text that was read. The user's
rules and settings apply as they are when the fork runs.
"""

from typing import TYPE_CHECKING

from msgspec import Struct, field

from clawft.agent.sessions import TextLimits
from clawft.agent.text_limits import list_prompted, list_text_limits
from clawft.agent.tool_permission import list_active
from clawft.errors import Refused
from clawft.messages import By
from clawft.skills.parse.model import Agent
from clawft.trust.modes import Mode
from clawft.trust.permissions import ActiveSkill

if TYPE_CHECKING:
    from clawft.agent.conversation import Conversation
    from clawft.agent.runtime import Runtime


class AgentPower(Struct, frozen=True, forbid_unknown_fields=True):
    """The permissions in an agent's file, without its prompt and its model."""

    name: str
    tools: tuple[str, ...] | None
    disallowed_tools: tuple[str, ...]
    permission_mode: str
    skills: tuple[str, ...]


class ForkedSkill(Struct, frozen=True, forbid_unknown_fields=True):
    """The skill that a fork runs, as it was when the fork was requested."""

    name: str
    scope: str
    digest: str


class Lineage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every field but the last three must be given: one that got lost would be a limit that is gone."""

    depth: int  # how many forks deep
    account: str  # the session whose budget pays
    turn: int  # that session's turn which asked for it
    project: str  # what patterns of paths start at
    mode: Mode
    above: tuple[AgentPower, ...]
    active: tuple[ActiveSkill, ...]  # the skills at work above
    prompted: tuple[ActiveSkill, ...]  # skills that are not the user's own, in the prompts above
    loaded: tuple[str, ...]  # the skills that were loaded above: their hooks last as long as the session
    read_texts: tuple[TextLimits, ...] = field(name="heard")
    approved: tuple[str, ...]  # what the person allowed for the session, by digest
    forks: tuple[str, ...]  # the skills that were forked, down to here
    max_tokens: int | None
    by: By = "user"
    skill: ForkedSkill | None = None
    agent: AgentPower | None = None  # the one that is to answer; None where it is at hand


def begin_lineage(runtime: "Runtime", account: str) -> Lineage:
    """Return the lineage of a conversation that is not a fork."""
    return Lineage(
        depth=0,
        account=account,
        turn=0,
        project=runtime.workspace.project,
        mode=runtime.default_mode,
        above=(),
        active=(),
        prompted=(),
        loaded=(),
        read_texts=(),
        approved=(),
        forks=(),
        max_tokens=None,
    )


def lineage_of(conversation: "Conversation") -> Lineage:
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


def power_of(agent: Agent) -> AgentPower:
    """Return the permissions of an agent."""
    return AgentPower(agent.name, agent.tools, agent.disallowed_tools, agent.permission_mode, agent.skills)


def check_lineage(lineage: Lineage, agent: Agent, runtime: "Runtime") -> None:
    """Check that a fork that another process requested may begin. Raises: Refused if it would not be the same."""
    if lineage.project != runtime.workspace.project:
        raise Refused("fork-changed", f"The fork belongs to the project {lineage.project}", hint="Start it there again")
    if lineage.agent is not None and lineage.agent != power_of(agent):
        message = f"The agent '{lineage.agent.name}' is not what it was when the fork was asked for"
        raise Refused("fork-changed", message, hint="Look at it, then start the skill again")
    limit = runtime.config.agents.fork.max_depth
    if lineage.depth > limit:
        raise Refused("fork-changed", f"Forks stop {limit} deep now", hint="See agents.fork.max_depth")
