"""The MCP tool `skill-execute`: executions with progress, elicited answers and results."""

import math
import secrets
import time
from collections import deque
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
from clawft.files import replace_surrogates
from clawft.messages import (
    Event,
    ForkFinished,
    ForkStarted,
    MessageSent,
    Noticed,
    SkillActivated,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from clawft.server.callers import DaemonCall, DaemonCaller
from clawft.server.daemon import Daemon
from clawft.server.mcp.requests import (
    Context,
    ExecuteArguments,
    ExecuteOutput,
    Recheck,
    fail_tool,
    read_arguments,
    recheck_of,
)
from clawft.server.protocol.base import DaemonAnswer, Problem, copy_fields
from clawft.server.protocol.executions import (
    ExecuteSkill,
    Question,
    QuestionAsked,
    QuestionClosed,
    SkillResult,
    TurnEvent,
    Verdict,
)
from clawft.trust.status import STATES

MAX_LINES = 100  # that wait for a client
MAX_LINE = 500
_TEXT_EVERY_S = 0.25
_OURS = ("mcp-", "config-", "plugin-", "hook")  # how this machine is set up is no business of a client


class McpExecution:
    """One execution. A client may leave it to ask a person something, and come back with `key`."""

    def __init__(self, caller: DaemonCaller, request: ExecuteSkill, is_known: Recheck, *, can_answer: bool) -> None:
        self.key = secrets.token_urlsafe(18)
        self.caller = caller
        self.request = request
        self.call = DaemonCall(caller, self._hear, can_answer=can_answer, is_known=is_known)
        self.questions: dict[str, Question] = {}
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        self.reported = 0
        self.result: SkillResult | None = None
        self.error: BaseException | None = None
        self.is_attended = True
        self.over = anyio.Event()
        self.taken = anyio.Event()  # nobody comes back for it
        self._news = anyio.Event()
        self._scope = anyio.CancelScope()
        self._text = ""
        self._text_sent_at = 0.0

    async def run(self, daemon: Daemon, wait_s: float) -> None:
        """Execute the request; then wait a while for a client that left to come back."""
        try:
            with self._scope:
                answer = await daemon.answer(self.call, self.request)
                assert isinstance(answer, SkillResult)
                self.result = answer
        except Exception as error:  # it is raised again where the client is
            self.error = error
        self.over.set()
        self._news.set()
        with anyio.move_on_after(wait_s):
            await self.taken.wait()

    async def wait(self) -> None:
        """Until something happened."""
        await self._news.wait()
        self._news = anyio.Event()

    def leave(self, wait_s: float) -> None:
        """The client goes to ask a person. It has a while to come back."""
        self.is_attended = False
        self._scope.deadline = anyio.current_time() + wait_s

    def return_to(self) -> None:
        self.is_attended = True
        self._scope.deadline = math.inf
        self._news.set()

    def end(self) -> None:
        """The client has its answer, or does not want one."""
        self._scope.cancel()
        self.taken.set()

    def give(self) -> SkillResult:
        """The result. Raises: ClawftError if it could not begin; whatever went wrong."""
        if self.error is not None:
            raise self.error
        if self.result is None:
            raise ClawftError("execution-cancelled", "The execution was ended before it began")
        return self.result

    def _hear(self, answer: DaemonAnswer) -> None:
        match answer:
            case QuestionAsked(question=question):
                self.questions[question.question] = question
                self._say(f"asks: {question.text}")
            case QuestionClosed(question=question_id, answer=verdict):
                self.questions.pop(question_id, None)
                self._say(f"answered: {verdict}")
            case TurnEvent(event=TextDelta(text=text)):
                self._add_text(text)
            case TurnEvent(event=event) if line := _put(event):
                self._flush_text()
                self._say(line)

    def _say(self, line: str) -> None:
        self.lines.append(replace_surrogates(" ".join(line.split())[:MAX_LINE]))
        self._news.set()

    def _add_text(self, text: str) -> None:
        self._text = (self._text + text)[-MAX_LINE:]
        if time.monotonic() - self._text_sent_at >= _TEXT_EVERY_S:
            self._flush_text()

    def _flush_text(self) -> None:
        if self._text.strip():
            self._say(self._text)
        self._text, self._text_sent_at = "", time.monotonic()


def _put(event: Event) -> str:
    """A line about something that happened; '' where there is nothing to say."""
    match event:
        case SkillActivated(name=name):
            return f"skill {name}"
        case ToolStarted(tool=tool, summary=summary):
            return f"{tool} {summary}"
        case ToolFinished(tool=tool, status="error", result=result):
            return f"{tool} failed: {result.get('error', {}).get('message', '')}"
        case ToolFinished(tool=tool):
            return f"{tool} done"
        case MessageSent(text=text):
            return text
        case ForkStarted(skill=skill):
            return f"fork {skill}"
        case ForkFinished(skill=skill, status=status):
            return f"fork {skill}: {status}"
        case Noticed(code=code) if code.startswith(_OURS):
            return ""
        case Noticed(code=code, message=message, severity=severity):
            return f"{severity}[{code}]: {message}"
    return ""


_VERDICTS: tuple[Verdict, ...] = ("once", "session", "always", "no")
_WORDS = {"once": "Yes, this once", "session": "Yes, for this session", "always": "Yes, always in this project"} | {
    "no": "No"
}
_ENDED = {
    "cancelled": ("execution-cancelled", "It was cancelled"),
    "length": ("execution-length", "The answer was too long, and is cut"),
    "max_iterations": ("execution-steps", "It took too many steps, and was ended"),
}


class ExecuteTool:
    """All executions of one server. `group` is set while it runs."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._turns: dict[str, McpExecution] = {}
        self.group: TaskGroup | None = None

    async def __call__(
        self, context: Context, caller: DaemonCaller, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Raises: ClawftError."""
        caller.need("run")
        if params.request_state is not None:
            turn = self._find(caller, params.request_state)
            turn.return_to()
            self._answer_all(turn, params.input_responses or {})
        else:
            arguments = read_arguments(params.arguments, ExecuteArguments)
            self._check_started(arguments.name)
            turn = self._begin(context, caller, arguments)
        try:
            return await self._attend(context, turn)
        finally:
            if turn.is_attended:
                turn.end()

    def _check_started(self, name: str) -> None:
        """A model is at the other end. Raises: Refused for a skill that only a person may start."""
        app, bare = self._daemon.app, name.rpartition(":")[2]
        if not any(skill.state == "manual" and skill.name == bare for skill in app.skills):
            return
        if app.get_skill(name).state == "manual":
            message = f"The skill '{name}' may not be started by a model: {STATES['manual']}"
            raise Refused("skill-refused", message, hint="It is a prompt, which the person can use")

    def _begin(self, context: Context, caller: DaemonCaller, arguments: ExecuteArguments) -> McpExecution:
        """Raises: ClawftError where too much goes on."""
        most = self._daemon.settings.limits.per_connection
        if sum(turn.caller.name == caller.name for turn in self._turns.values()) >= most:
            message = f"{most} executions of '{caller.name}' go on already"
            raise ClawftError(
                "connection-busy", message, hint="Wait for one to end, or raise serve.limits.per_connection"
            )
        request = ExecuteSkill(name=arguments.name, arguments=arguments.arguments, session=arguments.session)
        turn = McpExecution(
            caller, request, recheck_of(context), can_answer=_can_ask(context) and caller.may("approve")
        )
        assert self.group is not None  # the server runs
        self._turns[turn.key] = turn
        self.group.start_soon(self._run, turn)
        return turn

    async def _run(self, turn: McpExecution) -> None:
        try:
            await turn.run(self._daemon, self._daemon.settings.approval_timeout_s)
        finally:
            del self._turns[turn.key]

    def _find(self, caller: DaemonCaller, key: str) -> McpExecution:
        """Raises: NotFound for one that is over, another's, or attended already."""
        turn = self._turns.get(key)
        if turn is None or turn.caller.name != caller.name or turn.is_attended:
            raise NotFound("execution-not-found", "That execution does not go on any more", hint="Begin it again")
        return turn

    async def _attend(self, context: Context, turn: McpExecution) -> CallToolResult | InputRequiredResult:
        """Follow it to its end, or to a question that the client has to come back with. Raises: ClawftError."""
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        asked: dict[str, anyio.CancelScope] = {}
        async with anyio.create_task_group() as group:
            while not turn.over.is_set():
                await turn.wait()
                while turn.lines:
                    turn.reported += 1
                    await context.session.report_progress(turn.reported, message=turn.lines.popleft())
                if is_modern and turn.questions and not turn.over.is_set():
                    turn.leave(self._daemon.settings.approval_timeout_s)
                    return _need_input(turn)
                if not is_modern:
                    self._keep_asking(context, turn, asked, group)
            group.cancel_scope.cancel()
        return _tell(turn.give())

    def _keep_asking(
        self, context: Context, turn: McpExecution, asked: dict[str, anyio.CancelScope], group: TaskGroup
    ) -> None:
        """Put what is new to the person; what another answered meanwhile is not asked any more."""
        for key, scope in asked.items():
            if key not in turn.questions:
                scope.cancel()
        for key, question in turn.questions.items():
            if key not in asked:
                asked[key] = anyio.CancelScope()
                group.start_soon(self._elicit, context, turn, question, asked[key])

    async def _elicit(self, context: Context, turn: McpExecution, question: Question, scope: anyio.CancelScope) -> None:
        form = _form(question)
        with scope:
            try:
                response = await context.session.elicit_form(
                    form.message, form.requested_schema, related_request_id=context.request_id
                )
            except (MCPError, ValidationError):  # it cannot, after all: others may answer
                return
            self._answer(turn, question, response)

    def _answer_all(self, turn: McpExecution, responses: dict[str, Any]) -> None:
        for key, question in tuple(turn.questions.items()):
            answer = responses.get(key)
            if isinstance(answer, ElicitResult):
                self._answer(turn, question, answer)

    def _answer(self, turn: McpExecution, question: Question, response: ElicitResult) -> None:
        answer = (response.content or {}).get("answer") if response.action == "accept" else "no"
        no: Verdict = "no"
        verdict = next((choice for choice in _choices(question) if choice == answer), no)
        turn.questions.pop(question.question, None)
        with suppress(ClawftError):  # another was quicker, its time is over, or it cannot be written down
            self._daemon.questions.answer(turn.caller, question.question, verdict)


def _can_ask(context: Context) -> bool:
    """Return whether the client can put a form to a person, in whichever way its version of the protocol has."""
    capabilities = context.session.client_capabilities
    asks = capabilities.elicitation if capabilities else None
    if asks is None or (asks.form is None and asks.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def _choices(question: Question) -> tuple[Verdict, ...]:
    return ("once", "no") if question.dangerous else _VERDICTS


def _form(question: Question) -> ElicitRequestFormParams:
    choices = _choices(question)
    answer = {
        "type": "string",
        "title": "May it?",
        "enum": [*choices],
        "enumNames": [_WORDS[choice] for choice in choices],
    }
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    about = f"The skill '{question.skill}' asks: {question.text}"
    message = replace_surrogates(f"{about}\n{question.reason}" if question.reason else about)
    return ElicitRequestFormParams(message=message, requested_schema=schema)


def _need_input(turn: McpExecution) -> InputRequiredResult:
    requests: InputRequests = {key: ElicitRequest(params=_form(question)) for key, question in turn.questions.items()}
    return InputRequiredResult(input_requests=requests, request_state=turn.key)


def _tell(result: SkillResult) -> CallToolResult:
    output = copy_fields(ExecuteOutput, result)
    structured: dict[str, Any] = replace_surrogates(msgspec.to_builtins(output))
    if result.error is not None:
        return fail_tool(result.error, structured)
    if result.status != "done":
        code, message = _ENDED[result.status]
        failed = fail_tool(Problem(code=code, severity="error", message=message), structured)
        return failed.model_copy(update={"content": [*failed.content, TextContent(text=structured["text"])]})
    return CallToolResult(content=[TextContent(text=structured["text"])], structured_content=structured)
