"""What models cost and how skills are used."""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.messages import Usage
from clawft.protocol.base import Answer, Problem, Request

__all__ = ["GetUsage", "SkillUsage", "UsageAnswer", "UsageBudget", "UsageSum"]

_Day = Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


class GetUsage(Request, frozen=True, kw_only=True, tag="get_usage"):
    """Costs, tokens and calls, by day, by model and by session, from one day to another; without days the last 30."""

    since: _Day = ""
    until: _Day = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class UsageSum(Usage, frozen=True, kw_only=True):
    """Of one day, model or session: its `name`. `unpriced` are calls of models whose price is not known.

    `tokens` counts also what is known without its kind.
    """

    name: str
    calls: int
    tokens: int
    usd: float
    unpriced: int = 0


class SkillUsage(Struct, frozen=True, kw_only=True):
    """How often a skill was offered to a model and loaded: an object of `clawft.skills.stats.v1`.

    `score` tells how the turns went in which it was loaded, from 0 to 1; `here` whether it can be used now.
    """

    name: str
    offered: int
    loaded: int
    score: float
    last_loaded: str
    here: bool


class UsageBudget(Struct, frozen=True, kw_only=True):
    """What may be used in a day and in a session, where the config says so."""

    per_day_usd: float | None = None
    per_day_tokens: int | None = None
    per_session_usd: float | None = None
    per_session_tokens: int | None = None


class UsageAnswer(Answer, frozen=True, kw_only=True, tag="usage"):
    """Days in order; models and sessions with those first that cost most. Skills are counted since there were any.

    Where machines share a database of runs, what runs cost is counted there: it is added, or `problem` tells why not.
    """

    since: str
    until: str
    total: UsageSum
    days: tuple[UsageSum, ...]
    models: tuple[UsageSum, ...]
    sessions: tuple[UsageSum, ...]
    skills: tuple[SkillUsage, ...]
    budget: UsageBudget
    problem: Problem | None = None
