"""Messages between a person, a model and tools: messages, usage, and the events of a turn.

There is one Message, one Usage and one family of events for every front end, log and provider.
"""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct, field

ReportProgress = Callable[[int, int], None]  # how many are done, of how many
Role = Literal["system", "user", "assistant", "tool"]
By = Literal["model", "user", "agent", "always"]
TurnEnding = Literal["done", "max_iterations", "length", "cancelled"]
ForkEnding = Literal["done", "max_iterations", "length", "cancelled", "failed", "timeout"]


class Image(Struct, frozen=True):
    """A picture as wires carry it."""

    media_type: str
    base64: str


ReasoningKind = Literal["think", "reasoning", "reasoning_content", "thinking", "redacted_thinking"]


class Reasoning(Struct, frozen=True, omit_defaults=True):
    """A thought of a model before it answered, apart from the answer, in the form in which it came.

    Only the provider that it came from gets it back. `signature` is what that server knows its own text by.
    """

    kind: ReasoningKind
    text: str = ""
    signature: str = ""
    provider: str = ""


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """A model's wish to run a tool. `malformed` holds arguments that are no JSON object, as they came; `problem` says
    why a call cannot be made as it is."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    malformed: str = ""
    problem: str = ""


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation. A `content` of None is left out when the message is written; "" stays."""

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    images: tuple[Image, ...] = ()
    is_error: bool = False
    reasoning: tuple[Reasoning, ...] = ()


class Usage(Struct, frozen=True):
    """Tokens that were paid for. `input_tokens` counts those read from and written to a cache too."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def merge(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


class Event(Struct, frozen=True, kw_only=True, tag_field="event", tag=True):
    """Something that happened in a turn. The loop stamps time and session."""

    at: str = ""
    session: str = ""


class TurnStarted(Event, frozen=True, kw_only=True):
    turn: int
    model: str
    agent: str = ""


class CatalogShown(Event, frozen=True, kw_only=True):
    """The skills in the model's prompt: with their description, by name alone, or left out for want of room."""

    described: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    characters: int = 0
    budget: int = 0


class SkillActivated(Event, frozen=True, kw_only=True):
    """A skill's text reached the model; `by` tells who asked for it."""

    name: str
    scope: str
    digest: str = ""
    by: By = "model"
    tools: tuple[str, ...] | None = None


class TextDelta(Event, frozen=True, kw_only=True):
    text: str


class ToolStarted(Event, frozen=True, kw_only=True):
    call: str
    tool: str
    arguments: dict[str, Any] = {}
    summary: str = ""


class ToolFinished(Event, frozen=True, kw_only=True):
    """The end of a tool call; `result` is the envelope with its outcome."""

    call: str
    tool: str
    status: Literal["success", "partial", "error"]
    result: dict[str, Any] = {}


class ApprovalNeeded(Event, frozen=True, kw_only=True):
    """A tool call that needs approval before it runs. The turn waits for the answer of the person or client that
    started it.

    A dangerous question, such as to run outside the sandbox, is put to a person each time: no flag, mode, rule or
    earlier answer approves it.
    """

    call: str
    tool: str
    question: str
    reason: str = ""
    dangerous: bool = field(default=False, name="grave")
    options: tuple[str, ...] = ()  # likely answers to a question of the model, which words may answer too


# "always" holds in this project for the very same question, and while the skills that led to it stay as they are;
# "flag" is an approval given in advance, with --yes; "nobody" is a denial where nobody could be asked.
Answer = Literal["once", "session", "always", "flag", "no", "nobody"]


class ApprovalAnswer(Struct, frozen=True):
    """An answer, and who gave it in the words of the audit log, such as `token NAME`. `choice` answers a question with
    options, or in the person's own words."""

    answer: Answer
    by: str
    choice: str = ""


class ForkStarted(Event, frozen=True, kw_only=True):
    """A conversation of its own begins, in the session `child`: for a skill, or without one for a delegated task."""

    child: str
    skill: str = ""
    agent: str = ""
    model: str = ""
    by: By = "model"
    depth: int = 1
    run: str = ""  # of one that goes on in the background: its end is not told here


class ForkActed(Event, frozen=True, kw_only=True):
    """A fork uses a tool. All that it does is in its own session."""

    child: str
    tool: str
    summary: str = ""


class ForkFinished(Event, frozen=True, kw_only=True):
    """A fork is over. `usage` counts all that was forked below it too; `message` tells why it failed."""

    child: str
    status: ForkEnding
    skill: str = ""
    agent: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    time_ms: int = 0
    message: str = ""


class UsageReported(Event, frozen=True, kw_only=True):
    """One model call was paid for. `cost_usd` is None where no price is known."""

    model: str
    usage: Usage
    cost_usd: float | None = None


class Compacted(Event, frozen=True, kw_only=True):
    """Old turns were summarised since the window filled."""

    tokens_before: int
    tokens_after: int
    messages_before: int = 0
    messages_after: int = 0


class MessageSent(Event, frozen=True, kw_only=True):
    """The agent, or a hook, told the person something while the work goes on."""

    text: str
    hook: str = ""


class Noticed(Event, frozen=True, kw_only=True):
    """Something worth saying that stops nothing: a retry, a server that did not start, a skill that is missing."""

    code: str
    message: str
    severity: Literal["warning", "note"] = "note"
    hint: str = ""


class TurnFinished(Event, frozen=True, kw_only=True):
    """The turn is over and safe on disk. `refused` counts what a policy kept tools from doing."""

    text: str
    stop: TurnEnding = "done"
    usage: Usage = field(default_factory=Usage)
    refused: int = 0


class TurnFailed(Event, frozen=True, kw_only=True):
    """The turn ended without an answer."""

    code: str
    message: str
    hint: str = ""
    exit_code: int = 1
    usage: Usage = field(default_factory=Usage)


# Every event there is, for who reads them again.
AnyEvent = (
    TurnStarted
    | CatalogShown
    | SkillActivated
    | TextDelta
    | ToolStarted
    | ToolFinished
    | ApprovalNeeded
    | ForkStarted
    | ForkActed
    | ForkFinished
    | UsageReported
    | Compacted
    | MessageSent
    | Noticed
    | TurnFinished
    | TurnFailed
)
