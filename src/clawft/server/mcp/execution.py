"""The tool `skill-execute`: through the daemon like any caller's work, with progress, questions and an end (R170).

What a tool asks is put to the person at the client by elicitation, if the client can and its caller may approve. An
older client is asked while its call goes on. One of 2026-07-28 is answered that input is needed, and calls again.
"""

from contextlib import suppress
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequests,
    InputRequiredResult,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from clawft.errors import ClawftError, NotFound, Refused
from clawft.protocol.base import Problem
from clawft.protocol.encoding import tellable
from clawft.protocol.running import ExecuteSkill, Question, SkillResult, Verdict
from clawft.serve.caller import Caller
from clawft.serve.daemon import Daemon
from clawft.serve.mcp.asking import Context, fail_tool, recheck_of
from clawft.serve.mcp.turns import Turn
from clawft.serve.mcp.values import ExecuteArguments, ExecuteOutput, read_arguments
from clawft.trust import STATES

__all__ = ["Execute"]

_VERDICTS: tuple[Verdict, ...] = ("once", "session", "always", "no")
_WORDS = {"once": "Yes, this once", "session": "Yes, for this session", "always": "Yes, always in this project"} | {
    "no": "No"
}
_ENDED = {
    "cancelled": ("execution-cancelled", "It was cancelled"),
    "length": ("execution-length", "The answer was too long, and is cut"),
    "max_iterations": ("execution-steps", "It took too many steps, and was ended"),
}


class Execute:
    """All executions of one server. `group` is set while it runs."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._turns: dict[str, Turn] = {}
        self.group: TaskGroup | None = None

    async def __call__(
        self, context: Context, caller: Caller, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Raises: ClawftError."""
        caller.need("run")
        if params.request_state is not None:
            turn = self._find(caller, params.request_state)
            turn.return_to()
            self._answer_all(turn, params.input_responses or {})
        else:
            given = read_arguments(params.arguments, ExecuteArguments)
            self._check_started(given.name)
            turn = self._begin(context, caller, given)
        try:
            return await self._attend(context, turn)
        finally:
            if turn.is_attended:
                turn.end()

    def _check_started(self, name: str) -> None:
        """A model is at the other end. Raises: Refused for a skill that only a person may start."""
        app, bare = self._daemon.app, name.rpartition(":")[2]
        if not any(one.state == "manual" and one.name == bare for one in app.skills):
            return
        if app.get_skill(name).state == "manual":
            message = f"The skill '{name}' may not be started by a model: {STATES['manual']}"
            raise Refused("skill-refused", message, hint="It is a prompt, which the person can use")

    def _begin(self, context: Context, caller: Caller, given: ExecuteArguments) -> Turn:
        """Raises: ClawftError where too much goes on."""
        most = self._daemon.settings.limits.per_connection
        if sum(one.caller.name == caller.name for one in self._turns.values()) >= most:
            message = f"{most} executions of '{caller.name}' go on already"
            raise ClawftError(
                "connection-busy", message, hint="Wait for one to end, or raise serve.limits.per_connection"
            )
        request = ExecuteSkill(name=given.name, arguments=given.arguments, session=given.session)
        turn = Turn(caller, request, recheck_of(context), can_answer=_can_ask(context) and caller.may("approve"))
        assert self.group is not None  # the server runs
        self._turns[turn.key] = turn
        self.group.start_soon(self._run, turn)
        return turn

    async def _run(self, turn: Turn) -> None:
        try:
            await turn.run(self._daemon, self._daemon.settings.approval_timeout_s)
        finally:
            del self._turns[turn.key]

    def _find(self, caller: Caller, key: str) -> Turn:
        """Raises: NotFound for one that is over, another's, or attended already."""
        turn = self._turns.get(key)
        if turn is None or turn.caller.name != caller.name or turn.is_attended:
            raise NotFound("execution-not-found", "That execution does not go on any more", hint="Begin it again")
        return turn

    async def _attend(self, context: Context, turn: Turn) -> CallToolResult | InputRequiredResult:
        """Follow it to its end, or to a question that the client has to come back with. Raises: ClawftError."""
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        asked: dict[str, anyio.CancelScope] = {}
        async with anyio.create_task_group() as group:
            while not turn.over.is_set():
                await turn.wait()
                while turn.lines:
                    turn.told += 1
                    await context.session.report_progress(turn.told, message=turn.lines.popleft())
                if is_modern and turn.questions and not turn.over.is_set():
                    turn.leave(self._daemon.settings.approval_timeout_s)
                    return _need_input(turn)
                if not is_modern:
                    self._keep_asking(context, turn, asked, group)
            group.cancel_scope.cancel()
        return _tell(turn.give())

    def _keep_asking(self, context: Context, turn: Turn, asked: dict[str, anyio.CancelScope], group: TaskGroup) -> None:
        """Put what is new to the person; what another answered meanwhile is not asked any more."""
        for key, scope in asked.items():
            if key not in turn.questions:
                scope.cancel()
        for key, question in turn.questions.items():
            if key not in asked:
                asked[key] = anyio.CancelScope()
                group.start_soon(self._elicit, context, turn, question, asked[key])

    async def _elicit(self, context: Context, turn: Turn, question: Question, scope: anyio.CancelScope) -> None:
        form = _form(question)
        with scope:
            try:
                given = await context.session.elicit_form(
                    form.message, form.requested_schema, related_request_id=context.request_id
                )
            except (MCPError, ValidationError):  # it cannot, after all: others may answer
                return
            self._answer(turn, question, given)

    def _answer_all(self, turn: Turn, given: dict[str, Any]) -> None:
        for key, question in tuple(turn.questions.items()):
            answer = given.get(key)
            if isinstance(answer, ElicitResult):
                self._answer(turn, question, answer)

    def _answer(self, turn: Turn, question: Question, given: ElicitResult) -> None:
        said = (given.content or {}).get("answer") if given.action == "accept" else "no"
        no: Verdict = "no"
        verdict = next((one for one in _choices(question) if one == said), no)
        turn.questions.pop(question.question, None)
        with suppress(ClawftError):  # another was quicker, its time is over, or it cannot be written down
            self._daemon.questions.answer(turn.caller, question.question, verdict)


def _can_ask(context: Context) -> bool:
    """Whether the client can put a form to a person, in whichever way its version of the protocol has."""
    capabilities = context.session.client_capabilities
    asks = capabilities.elicitation if capabilities else None
    if asks is None or (asks.form is None and asks.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def _choices(question: Question) -> tuple[Verdict, ...]:
    return ("once", "no") if question.grave else _VERDICTS


def _form(question: Question) -> ElicitRequestFormParams:
    choices = _choices(question)
    answer = {
        "type": "string",
        "title": "May it?",
        "enum": [*choices],
        "enumNames": [_WORDS[one] for one in choices],
    }
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    about = f"The skill '{question.skill}' asks: {question.text}"
    message = tellable(f"{about}\n{question.reason}" if question.reason else about)
    return ElicitRequestFormParams(message=message, requested_schema=schema)


def _need_input(turn: Turn) -> InputRequiredResult:
    requests: InputRequests = {key: ElicitRequest(params=_form(one)) for key, one in turn.questions.items()}
    return InputRequiredResult(input_requests=requests, request_state=turn.key)


def _tell(result: SkillResult) -> CallToolResult:
    output = ExecuteOutput(
        execution=result.execution,
        session=result.session,
        status=result.status,
        text=result.text,
        usage=result.usage,
        refused=result.refused,
        events=result.events,
        error=result.error,
    )
    structured: dict[str, Any] = tellable(msgspec.to_builtins(output))
    if result.error is not None:
        return fail_tool(result.error, structured)
    if result.status != "done":
        code, message = _ENDED[result.status]
        failed = fail_tool(Problem(code=code, severity="error", message=message), structured)
        return failed.model_copy(update={"content": [*failed.content, TextContent(text=structured["text"])]})
    return CallToolResult(content=[TextContent(text=structured["text"])], structured_content=structured)
