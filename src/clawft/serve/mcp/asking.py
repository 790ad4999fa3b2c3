"""Who asks over MCP, and how what went wrong is said there."""

from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from msgspec import structs

from clawft.errors import ClawftError
from clawft.protocol.base import Problem, Scope, to_problem
from clawft.protocol.encoding import tellable
from clawft.serve.caller import Caller
from clawft.serve.door import visitor_of

__all__ = ["NAMESPACE", "CallerOf", "Context", "Recheck", "fail_tool", "need", "recheck_of", "refuse", "show_problem"]

NAMESPACE = "dev.clawft"
_OURS = frozenset({"serve-busy", "serve-stopping", "connection-busy", "questions-full"})
Context = ServerRequestContext[Any, Any]
Recheck = Callable[[], bool]  # whether who asked still may
CallerOf = Callable[[Context], Caller]  # who asks; the same for a whole pipe, or whose token a request has


def refuse(error: ClawftError) -> MCPError:
    """An error of ours as one of the protocol."""
    code = INTERNAL_ERROR if error.code in _OURS else INVALID_PARAMS
    return MCPError(code, tellable(str(error)), tellable(structs.asdict(to_problem(error.diagnostic))))


def need(caller: Caller, scope: Scope) -> None:
    """Raises: MCPError without that scope."""
    try:
        caller.need(scope)
    except ClawftError as error:
        raise refuse(error) from error


def fail_tool(problem: Problem, structured: dict[str, Any] | None = None) -> CallToolResult:
    """An error that the model reads, so that it can do better. `structured` is what the tool's schema asks for."""
    return CallToolResult(
        content=[TextContent(text=tellable(show_problem(problem)))],
        structured_content=structured,
        is_error=True,
        _meta={f"{NAMESPACE}/error": tellable(structs.asdict(problem))},
    )


def show_problem(problem: Problem) -> str:
    """`error[code]: message`, and what to do about it."""
    said = f"{problem.severity}[{problem.code}]: {problem.message}"
    return f"{said}\nhint: {problem.hint}" if problem.hint else said


def recheck_of(context: Context) -> Recheck:
    """A token may end; whoever is at the other end of a pipe stays who it is."""
    if context.request is None:
        return lambda: True
    return visitor_of(context.request.scope).is_known
