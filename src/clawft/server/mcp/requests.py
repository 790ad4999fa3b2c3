"""MCP requests: the caller, errors of the protocol, and the typed arguments and results of tools."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from msgspec import Meta, Struct, structs

from clawft.errors import ClawftError
from clawft.files import replace_surrogates
from clawft.messages import Usage
from clawft.server.callers import DaemonCaller
from clawft.server.middleware import get_request_client
from clawft.server.protocol.base import Key, Name, Problem, TokenScope, Words, to_problem
from clawft.server.protocol.executions import Ended
from clawft.server.protocol.skills import SkillState

NAMESPACE = "dev.clawft"
_OURS = frozenset({"serve-busy", "serve-stopping", "connection-busy", "questions-full"})
Context = ServerRequestContext[Any, Any]
Recheck = Callable[[], bool]  # whether who asked still may
CallerOf = Callable[[Context], DaemonCaller]  # who asks; the same for a whole pipe, or whose token a request has


def to_mcp_error(error: ClawftError) -> MCPError:
    """An error of ours as one of the protocol."""
    code = INTERNAL_ERROR if error.code in _OURS else INVALID_PARAMS
    return MCPError(
        code, replace_surrogates(str(error)), replace_surrogates(structs.asdict(to_problem(error.diagnostic)))
    )


def require_scope(caller: DaemonCaller, scope: TokenScope) -> None:
    """Raises: MCPError without that scope."""
    try:
        caller.need(scope)
    except ClawftError as error:
        raise to_mcp_error(error) from error


def fail_tool(problem: Problem, structured: dict[str, Any] | None = None) -> CallToolResult:
    """An error that the model reads, so that it can do better. `structured` is what the tool's schema asks for."""
    return CallToolResult(
        content=[TextContent(text=replace_surrogates(render_problem(problem)))],
        structured_content=structured,
        is_error=True,
        _meta={f"{NAMESPACE}/error": replace_surrogates(structs.asdict(problem))},
    )


def render_problem(problem: Problem) -> str:
    """`error[code]: message`, and what to do about it."""
    text = f"{problem.severity}[{problem.code}]: {problem.message}"
    return f"{text}\nhint: {problem.hint}" if problem.hint else text


def recheck_of(context: Context) -> Recheck:
    """Return a check whether the caller is still valid: a token may expire; the client at the other end of a pipe
    stays."""
    if context.request is None:
        return lambda: True
    return get_request_client(context.request.scope).is_known


Which = SkillState | Literal["usable", "all"]
T = TypeVar("T", bound=Struct)


class _ToolArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ExecuteArguments(_ToolArguments, frozen=True, kw_only=True):
    name: Annotated[Name, Meta(description="The skill's name, as skill-list gives it.")]
    arguments: Annotated[Words, Meta(description="What it is to work on, as it would be typed after its name.")] = ""
    session: Annotated[Key, Meta(description="The session of an earlier result, to go on in it.")] = ""


class ListArguments(_ToolArguments, frozen=True, kw_only=True):
    state: Annotated[Which, Meta(description="Those of one state; 'usable', or 'all'.")] = "usable"


class SearchArguments(_ToolArguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=2_000, description="What is to be done, in any words.")]
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class ScanArguments(_ToolArguments, frozen=True, kw_only=True):
    name: Annotated[Name, Meta(description="The skill's name, as skill-list gives it.")]


class ExecuteOutput(Struct, frozen=True, kw_only=True):
    execution: str
    session: str
    status: Ended
    text: str
    usage: Usage
    refused: Annotated[int, Meta(description="How often a policy kept a tool from acting.")]
    events: int
    error: Problem | None


class SkillLine(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    state: SkillState
    scope: str
    version: str
    why: Annotated[str, Meta(description="Why it is not ready, where it is not.")]


class ListOutput(Struct, frozen=True, kw_only=True):
    generation: Annotated[int, Meta(description="It grows whenever something on disk changed.")]
    skills: tuple[SkillLine, ...]


class FoundLine(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    state: SkillState
    score: float


class SearchOutput(Struct, frozen=True, kw_only=True):
    query: str
    results: tuple[FoundLine, ...]


class FindingLine(Struct, frozen=True, kw_only=True):
    rule: str
    severity: str
    message: str
    path: str
    line: int
    why: str
    fix: str


class ScanOutput(Struct, frozen=True, kw_only=True):
    name: str
    verdict: Literal["clean", "suspicious", "malicious"]
    findings: tuple[FindingLine, ...]


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a value, which is an object at its root: what clients ask for."""
    (root,), others = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    own = others.pop(root["$ref"].rpartition("/")[2])
    return {**own, **({"$defs": others} if others else {})}


def read_arguments(arguments: dict[str, Any] | None, kind: type[T]) -> T:
    """Raises: ClawftError for what the schema does not have."""
    try:
        return msgspec.convert(arguments or {}, kind)
    except msgspec.ValidationError as error:
        raise ClawftError("request-invalid", str(error), hint="The tool's input schema tells what it takes") from error
