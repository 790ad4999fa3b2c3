"""The tool: a name, JSON Schema arguments, a run function, its context and its result; and the registry of tools."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from clawft.agent.tools.command_session import CommandSession
from clawft.agent.tools.environment import SuppliedVariables
from clawft.errors import ClawftError
from clawft.messages import ApprovalAnswer, Event, Image
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import DeniedPaths, ToolTraits
from clawft.trust.patterns import select_tools
from clawft.trust.permissions import PermissionRules, ToolDecision, list_granted_hosts
from clawft.workspace import Workspace

ToolStatus = Literal["success", "partial", "error"]
ErrorCode = Literal[
    "INVALID_PARAM", "NOT_FOUND", "PERMISSION_DENIED", "TIMEOUT", "CONFLICT", "EXECUTION_ERROR", "INTERNAL_ERROR"
]
A = TypeVar("A", bound=Struct)


class ToolError(ClawftError):
    """The failure of a tool to do what was asked; the model reads its `error_code`."""

    def __init__(self, error_code: ErrorCode, message: str, *, hint: str = "") -> None:
        super().__init__(error_code.lower().replace("_", "-"), message, hint=hint)
        self.error_code = error_code


class ToolResult(Struct, frozen=True):
    """The result of a tool. `text` is what the model reads; `data` holds facts for programs."""

    text: str
    status: ToolStatus = "success"
    data: dict[str, Any] = {}
    images: tuple[Image, ...] = ()
    path_resolved: str = ""
    max_chars: int | None = None  # how much of the text reaches the model, where that is not the tool's own limit


# What came of a call that was in flight at a crash: its result, if it happened; "not-done" if it had no effect, so that
# it may be made now; None where nobody can tell.
Checked = ToolResult | Literal["not-done"] | None


class AskPerson(Protocol):
    """A callback that asks the person who started the turn; False where nobody answers. `dangerous`: only a person may
    say yes."""

    async def __call__(self, question: str, reason: str, *, dangerous: bool = False) -> bool: ...


class ChooseAnswer(Protocol):
    """A callback that puts a question with options to the person who started the turn."""

    async def __call__(self, question: str, options: tuple[str, ...]) -> ApprovalAnswer: ...


async def _choose_nothing(question: str, options: tuple[str, ...]) -> ApprovalAnswer:  # noqa: ARG001
    """Outside of a turn nobody is there."""
    return ApprovalAnswer("nobody", "")


class RecordDecision(Protocol):
    """Writes a line of the audit log. Raises: Refused if what is allowed cannot be written down."""

    def __call__(
        self, kind: str, subject: str, decision: str, rule: str = "", *, detail: Mapping[str, Any] | None = None
    ) -> None: ...


def shorten(text: str, max_chars: int) -> str:
    """A text as a person or a record is shown it: a long one is cut, with its length."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text)} characters)"


def _record_nothing(
    kind: str, subject: str, decision: str, rule: str = "", *, detail: Mapping[str, Any] | None = None
) -> None:
    """Outside of a turn there is no log."""


class CallAct:
    """The moment at which a call begins to act: all is decided, and nobody is asked any more."""

    def __init__(
        self, write: Callable[[], None] = lambda: None, prepare: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._write = write
        self._prepare = prepare  # for what the call may change
        self.is_begun = False

    async def begin(self) -> None:
        """Write down that it is allowed, once, before anything is done. Raises: Refused if that is not possible."""
        if not self.is_begun:
            self._write()
            self.is_begun = True
            if self._prepare is not None:
                await self._prepare()


class CallFiles(Struct, frozen=True):
    """The place where a call saves what it has to: the rest of long output, and files as they were before a change."""

    spill_dir: str
    keep_dir: str  # of the files as they were
    mask: Callable[[str], str] = str  # takes secrets out of what is written to disk
    turn: int = 0  # the person's turn that a change belongs to
    call: str = ""  # names the call among those of all runs, the same when a run goes on after a crash


class HostGrants(Struct, frozen=True):
    """The rules on hosts, and the hosts that each untrusted skill at work was approved with."""

    rules: PermissionRules = PermissionRules()
    approved: tuple[tuple[str, ...], ...] = ()
    skills: tuple[str, ...] = ()  # the names of those in use, for a person who is asked

    def find_hosts(self, *more: tuple[str, ...]) -> tuple[str, ...]:
        """Find the hosts that a program may reach; `more` are those of the skill that it belongs to."""
        return list_granted_hosts(self.rules, (*more, *self.approved))


async def _refuse(question: str, reason: str, *, dangerous: bool = False) -> bool:  # noqa: ARG001
    """Outside of a turn there is nobody to ask."""
    return False


def _judge_nothing(tool: str, arguments: Mapping[str, Any]) -> ToolDecision:  # noqa: ARG001
    return ToolDecision("pass")


class CallPermission(Struct, frozen=True):
    """The decision on a call, and what judges where it leads."""

    mode: Mode = Mode.AUTO_EDIT
    granted: ToolDecision = ToolDecision("pass")  # an `allow` answers what the tool asks
    must_ask: str = ""  # why a person is asked even for what the policy allows
    decide: Callable[[str, Mapping[str, Any]], ToolDecision] = _judge_nothing
    check_path: Callable[[str], None] = lambda _real: None  # raises a ToolError where the call may not reach
    denied: DeniedPaths | None = None  # what rules close to tools and commands

    def may_read(self, path: str) -> bool:
        """Return whether no rule denies to read a real path."""
        return self.denied is None or not self.denied.hides(path)


class ToolContext(Struct, frozen=True):
    """The environment of a running tool: its places, its permission, and the callbacks to ask, tell and record."""

    workspace: Workspace
    environ: Mapping[str, str]
    sandbox: Sandbox
    files: CallFiles
    ask: AskPerson
    emit: Callable[[Event], None]
    record: RecordDecision = _record_nothing
    choose: ChooseAnswer = _choose_nothing
    permission: CallPermission = CallPermission()
    act: CallAct = field(default_factory=CallAct)  # a tool that `asks` by itself begins it, when it has the answer
    tool: str = ""  # what the tool that was called goes by
    hosts: HostGrants = HostGrants()
    read_roots: tuple[str, ...] = ()  # folders outside the project that may be read, as those of loaded skills
    # Gives the variables for a command that a model wrote.
    take_shell_env: Callable[[], SuppliedVariables] = SuppliedVariables
    ask_host: AskPerson = _refuse  # about a host: what allows a command does not answer it
    commands: CommandSession | None = None  # what commands share; without one, each has all for itself


RunTool = Callable[[Any, ToolContext], Awaitable[ToolResult]]
CheckCall = Callable[[Any, ToolContext], Awaitable[Checked]]


class ArgumentAlias(Struct, frozen=True):
    """An argument as other clients call it: our name, '' where it changes nothing here, and the factor of a number."""

    name: str = ""
    factor: float = 1


Aliases = Mapping[str, ArgumentAlias]
FILE_ALIASES: Aliases = {"file_path": ArgumentAlias("path"), "absolute_path": ArgumentAlias("path")}


class Tool(Struct, frozen=True):
    """One tool. `arguments` None means that the run function takes the arguments as they came, as for MCP."""

    name: str
    description: str
    run: RunTool
    parameters: dict[str, Any]
    arguments: type[Struct] | None = None
    read_only: bool = False
    summarise: Callable[[Mapping[str, Any]], str] | None = None
    max_chars: int = 32 * 1024  # how much of a result's text reaches the model; the whole is then saved to a file
    timeout_s: float | None = None  # of one call; None is what the settings say
    may_run_parallel: Callable[[Mapping[str, Any]], bool] | None = (
        None  # whether a call may run beside others, though it acts
    )
    asks: bool = False  # it asks by itself, also where a mode or a rule wants a question, and begins `context.act`
    begins: bool = False  # it begins `context.act` itself, though it need not ask
    judges_itself: bool = False  # it judges what it is about to do, or does nothing but talk
    fetches: bool = False  # it reaches a host that a model names
    lasts: bool = False  # what it writes is part of later conversations
    # Does a call consist of steps of their own? Of the tool that loads skills each does.
    has_steps: Callable[[Mapping[str, Any]], bool] | None = None
    loads_skills: bool = False
    repeatable: Callable[[Mapping[str, Any]], bool] | None = None  # does a call do no harm twice? None: as `read_only`
    # May a call change files of the project? None: unless it is `read_only`.
    changes_files: Callable[[Mapping[str, Any]], bool] | None = None
    plugin: str = ""  # the id of the plugin that brings it
    aliases: Aliases = {}  # names of other clients for its arguments
    check: CheckCall | None = (
        None  # what came of a call that may have happened; takes what `run` takes, changes nothing
    )

    def traits(self, *, server: bool = False) -> ToolTraits:
        """Return what bears on whether a call must be asked about."""
        return ToolTraits(server, self.read_only, self.judges_itself, self.fetches, self.lasts)


def may_repeat(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call may be made again where nobody knows if it was made; not, if its arguments make no
    sense."""
    if tool.repeatable is None:
        return tool.read_only
    try:
        return tool.repeatable(arguments)
    except Exception:  # what a model sent may be anything, and a second effect is worse than a question
        return False


def may_change_files(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call may change files of the project; that it does not is more than a plugin can say."""
    if tool.changes_files is None:
        return not tool.read_only or bool(tool.plugin)
    try:
        return tool.changes_files(arguments)
    except Exception:  # what a model sent may be anything
        return True


def define_tool(
    name: str,
    description: str,
    arguments: type[A],
    run: Callable[[A, ToolContext], Awaitable[ToolResult]],
    *,
    read_only: bool = False,
    aliases: Aliases = {},  # noqa: B006
) -> Tool:
    """A tool whose JSON Schema follows from a struct: fields with `Annotated[…, Meta(description=…)]`."""
    return Tool(name, description, run, _schema(arguments), arguments, read_only, aliases=aliases)


def rename_arguments(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments under the tool's own names. One that is given under both names stays, and is refused."""
    renamed: dict[str, Any] = {}
    for name, value in arguments.items():
        alias = tool.aliases.get(name)
        if alias is None or alias.name in arguments or alias.name in renamed:
            renamed[name] = value
        elif alias.name:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            renamed[alias.name] = value * alias.factor if is_number and alias.factor != 1 else value
    return renamed


@cache  # each conversation has tools of its own, of the same few structs
def _schema(arguments: type[Struct]) -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([arguments], ref_template="{name}")
    described = _inline(components[schema["$ref"]], components)
    result = {"type": "object", "properties": described["properties"]}
    if described.get("required"):
        result["required"] = described["required"]
    result["additionalProperties"] = False
    return result


def _inline(schema: Any, components: Mapping[str, Any]) -> Any:
    """A schema without references, since not every wire understands them."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inline(components[schema["$ref"]], components)
        return {key: _inline(value, components) for key, value in schema.items() if key != "title"}
    return [_inline(part, components) for part in schema] if isinstance(schema, list) else schema


class ToolRegistry:
    """An ordered, immutable set of tools."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def select(self, allowed: tuple[str, ...] | None = None, denied: tuple[str, ...] = ()) -> "ToolRegistry":
        """The tools that `allowed` speaks of (None: all), without those that `denied` takes away as a whole.

        What the arguments of a pattern leave of a tool is decided when it is used.
        """
        return ToolRegistry(self._tools[name] for name in select_tools(self.names, allowed, denied))
