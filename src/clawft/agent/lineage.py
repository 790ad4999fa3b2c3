"""The lineage of a fork: what it inherits from its parent, as a value.

A fork in this process and one started later in another process are made from the same value, so both are limited alike:
by the agents above and the skills active in them, as their files were then, and by the text that was read. The user's
rules and settings apply as they are when the fork runs.
"""

from msgspec import Struct, field

from clawft.agent.sessions.record import TextLimits
from clawft.errors import Refused
from clawft.messages import By
from clawft.skills.parse.model import Agent
from clawft.trust.modes import Mode
from clawft.trust.permissions import ActiveSkill


class AgentPermissions(Struct, frozen=True, forbid_unknown_fields=True):
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
    above: tuple[AgentPermissions, ...]
    active: tuple[ActiveSkill, ...]  # the skills at work above
    prompted: tuple[ActiveSkill, ...]  # skills that are not the user's own, in the prompts above
    loaded: tuple[str, ...]  # the skills that were loaded above: their hooks last as long as the session
    read_texts: tuple[TextLimits, ...] = field(name="heard")
    approved: tuple[str, ...]  # what the person allowed for the session, by digest
    forks: tuple[str, ...]  # the skills that were forked, down to here
    max_tokens: int | None
    by: By = "user"
    skill: ForkedSkill | None = None
    agent: AgentPermissions | None = None  # the one that is to answer; None where it is at hand


def begin_lineage(account: str, project: str, mode: Mode) -> Lineage:
    """Return the lineage of a conversation that is not a fork."""
    return Lineage(
        depth=0,
        account=account,
        turn=0,
        project=project,
        mode=mode,
        above=(),
        active=(),
        prompted=(),
        loaded=(),
        read_texts=(),
        approved=(),
        forks=(),
        max_tokens=None,
    )


def get_agent_permissions(agent: Agent) -> AgentPermissions:
    """Return the permissions of an agent."""
    return AgentPermissions(agent.name, agent.tools, agent.disallowed_tools, agent.permission_mode, agent.skills)


def check_lineage(lineage: Lineage, agent: Agent, project: str, max_depth: int) -> None:
    """Check that a fork that another process requested may begin. Raises: Refused if it would not be the same."""
    if lineage.project != project:
        raise Refused("fork-changed", f"The fork belongs to the project {lineage.project}", hint="Start it there again")
    if lineage.agent is not None and lineage.agent != get_agent_permissions(agent):
        message = f"The agent '{lineage.agent.name}' is not what it was when the fork was asked for"
        raise Refused("fork-changed", message, hint="Look at it, then start the skill again")
    if lineage.depth > max_depth:
        raise Refused("fork-changed", f"Forks stop {max_depth} deep now", hint="See agents.fork.max_depth")
