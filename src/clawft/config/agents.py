"""The sections [agents], [providers] and [memory]: models, limits of a turn, budgets, and long-term memory."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef

_Positive = Annotated[int, Meta(ge=1)]
_Amount = Annotated[float, Meta(ge=0)]


class AgentDefaults(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.defaults]`."""

    #: The model that answers, as `provider/model`; `offline` is built in and is no language model.
    model: str = "offline"
    #: The agent that is used when none is named.
    agent: str = "default"
    #: What is done unasked: `plan`, `ask`, `auto-edit` or `full`; a project's file can only lower it.
    mode: Literal["plan", "ask", "auto-edit", "full"] = "auto-edit"
    #: How freely the model writes, 0 to 2; absent leaves it to the provider.
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    #: Models that take over, in this order, when the model of a turn fails for good, as `provider/model`.
    fallbacks: tuple[str, ...] = ()
    #: The most tokens that are asked for at once; a longer answer is continued, with the model's own maximum if known.
    max_tokens: _Positive = 4096
    #: How often a turn may go from the model to tools and back.
    max_tool_iterations: _Positive = 100
    #: Tokens that fit the model's window; absent takes `providers.NAME.models.MODEL.context_window`, else 128,000.
    context_window: _Positive | None = None
    #: How long one tool may run, in seconds; tools may have shorter limits of their own.
    tool_timeout_s: Annotated[float, Meta(gt=0, le=86_400)] = 600


class RoutingTier(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[agents.routing.tiers]]`: one step of the ladder, cheapest first."""

    #: The model of this tier, as `provider/model`.
    model: str
    #: The highest complexity, 0 to 1, that this tier answers.
    up_to: Annotated[float, Meta(ge=0, le=1)] = 1


class RoutingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.routing]`."""

    #: Models by rising complexity; empty means that the default model answers everything.
    tiers: tuple[RoutingTier, ...] = ()


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.budget]`: a call that would exceed one of these is not made."""

    #: US dollars in one day, over all sessions. Needs prices under `providers.NAME.models.MODEL`.
    per_day_usd: _Amount | None = None
    #: US dollars in one session.
    per_session_usd: _Amount | None = None
    #: Tokens in one day, over all sessions.
    per_day_tokens: _Positive | None = None
    #: Tokens in one session.
    per_session_tokens: _Positive | None = None


class CompactionSettings(Struct, frozen=True, forbid_unknown_fields=True):
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

    defaults: AgentDefaults = AgentDefaults()
    routing: RoutingSettings = RoutingSettings()
    budget: BudgetSettings = BudgetSettings()
    compaction: CompactionSettings = CompactionSettings()
    fork: ForkSettings = ForkSettings()


_Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[providers.NAME.models.MODEL]`: what is known of one model."""

    #: Tokens that fit its window.
    context_window: Annotated[int, Meta(ge=1)] | None = None
    #: The most tokens it writes in one answer; absent takes what is known of well-known models.
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    #: The price of a million tokens it reads, in US dollars.
    input_usd_per_mtok: _Amount | None = None
    #: The price of a million tokens it writes, in US dollars.
    output_usd_per_mtok: _Amount | None = None


class ProviderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[providers.NAME]`: models are then named `NAME/model`."""

    #: What the server speaks: `openai` (chat completions), `anthropic` (messages), or `scripted` (answers from a file).
    wire: Literal["openai", "anthropic", "scripted"] | None = None
    #: Where it is, with the version part: `http://127.0.0.1:11434/v1`.
    base_url: str = ""
    #: The key; a reference such as `{ env = "NAME" }`. Servers on this machine need none.
    api_key: SecretRef | None = None
    #: Further HTTP headers; `${NAME}` takes the value of a variable.
    headers: dict[str, str] = {}
    #: The model that `NAME` alone refers to.
    default_model: str = ""
    #: How long a request may take between two pieces of an answer, in seconds.
    timeout_s: _Seconds = 120
    #: How long connecting may take, in seconds.
    connect_timeout_s: _Seconds = 10
    #: How often a request is tried again after a failure that may pass.
    max_retries: Annotated[int, Meta(ge=0, le=20)] = 4
    #: How many requests it gets in a minute, spread evenly, from all processes together; absent for no limit.
    requests_per_minute: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    #: How a message without text is sent: without the key, or as `null`.
    empty_content: Literal["omit", "null"] = "omit"
    #: The file that a `scripted` provider answers from.
    script: str = ""
    #: What is known of single models.
    models: dict[str, ModelSettings] = {}


FILES = "files"


class MemorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[memory]`."""

    #: false offers no memory tools and reads no memory into the prompt.
    enabled: bool = True
    #: Where it is kept: `files` is MEMORY.md and HISTORY.md, any other name is that of a memory which a plugin brings,
    #: and `ID:NAME` says which plugin's. What a project's config says here is not followed.
    backend: Annotated[str, Meta(min_length=1, max_length=200)] = FILES
    #: Which hash embedding a new index uses; an index that exists keeps its own until `weft memory reindex`.
    embedding: Literal[2, 3] = 3
