"""The section `[agents]`: which model answers, how far a turn may go, and what it may cost."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["AgentsSettings", "Budget", "Compaction", "Defaults", "ForkSettings", "Routing", "Section", "Tier"]

_Positive = Annotated[int, Meta(ge=1)]
_Amount = Annotated[float, Meta(ge=0)]


class Defaults(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.defaults]`."""

    #: The model that answers, as `provider/model`; `offline` is built in and is no language model.
    model: str = "offline"
    #: The agent that is used when none is named.
    agent: str = "default"
    #: What is done unasked: `plan`, `ask`, `auto-edit` or `full`; a project's file can only lower it.
    mode: Literal["plan", "ask", "auto-edit", "full"] = "auto-edit"
    #: How freely the model writes, 0 to 2; absent leaves it to the provider.
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    #: The most tokens of one answer.
    max_tokens: _Positive = 4096
    #: How often a turn may go from the model to tools and back.
    max_tool_iterations: _Positive = 25
    #: Tokens that fit the model's window; absent takes `providers.NAME.models.MODEL.context_window`, else 128,000.
    context_window: _Positive | None = None
    #: How long one tool may run, in seconds; tools may have shorter limits of their own.
    tool_timeout_s: Annotated[float, Meta(gt=0, le=86_400)] = 600


class Tier(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[agents.routing.tiers]]`: one step of the ladder, cheapest first."""

    #: The model of this tier, as `provider/model`.
    model: str
    #: The highest complexity, 0 to 1, that this tier answers.
    up_to: Annotated[float, Meta(ge=0, le=1)] = 1


class Routing(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.routing]`."""

    #: Models by rising complexity; empty means that the default model answers everything.
    tiers: tuple[Tier, ...] = ()


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.budget]`: a call that would exceed one of these is not made."""

    #: US dollars in one day, over all sessions. Needs prices under `providers.NAME.models.MODEL`.
    per_day_usd: _Amount | None = None
    #: US dollars in one session.
    per_session_usd: _Amount | None = None
    #: Tokens in one day, over all sessions.
    per_day_tokens: _Positive | None = None
    #: Tokens in one session.
    per_session_tokens: _Positive | None = None


class Compaction(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.compaction]`."""

    #: Old turns are summarised when this part of the window is full.
    at: Annotated[float, Meta(gt=0, le=1)] = 0.8
    #: How many of the latest turns stay word for word.
    keep_turns: Annotated[int, Meta(ge=1)] = 4


class ForkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.fork]`: skills with `context: fork`, and tasks that `delegate` hands to an agent here."""

    #: How long one fork may take, in seconds; the time that a person takes to answer does not count.
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] = 900
    #: The most tokens of one fork, with all that it forks itself; absent leaves it to `agents.budget`.
    max_tokens: _Positive | None = None
    #: How deep forks may fork; 0 is not at all. A skill that finds no room runs inline, with a warning.
    max_depth: Annotated[int, Meta(ge=0, le=8)] = 2
    #: How many forks of one conversation run at the same time.
    max_parallel: Annotated[int, Meta(ge=1, le=64)] = 4


class AgentsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents]`."""

    defaults: Defaults = Defaults()
    routing: Routing = Routing()
    budget: Budget = Budget()
    compaction: Compaction = Compaction()
    fork: ForkSettings = ForkSettings()


Section = AgentsSettings
