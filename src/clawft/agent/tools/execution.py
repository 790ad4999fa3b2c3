"""The execution of one tool call: check arguments, bound its time, catch failures, and wrap the result."""

import os
from collections.abc import Mapping
from typing import Any, Literal

import anyio
import msgspec
from msgspec import Struct, structs

from clawft.agent.tools.file_access import base_folder
from clawft.agent.tools.saved_files import save_text
from clawft.agent.tools.tool import (
    AskPerson,
    ChooseAnswer,
    ErrorCode,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    ToolStatus,
    shorten,
)
from clawft.errors import ClawftError, NotFound, Refused, find_close
from clawft.files import real_path
from clawft.messages import ApprovalAnswer, Image
from clawft.sandbox.process import PausableClock

_LONGEST_PARAM = 2000


class Envelope(Struct, frozen=True):
    """The result of a tool call. Images are separate, as wire formats send them on their own."""

    status: ToolStatus
    data: dict[str, Any]
    text: str
    stats: dict[str, Any]
    context: dict[str, Any]
    error: dict[str, str] = {}  # code and message
    images: tuple[Image, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The envelope as programs read it: no other keys, and `error` on errors only."""
        error = {"error": self.error} if self.error else {}
        head = {"status": self.status, "data": self.data, "text": self.text}
        return head | error | {"stats": self.stats, "context": self.context}


async def run_tool(
    tool: Tool, arguments: dict[str, Any], context: ToolContext, *, timeout_s: float, problem: str = ""
) -> Envelope:
    """Run a tool and always come back with an envelope. The time that a person takes to answer does not count.

    `problem` is what is wrong with the call as the model sent it.
    """
    started = anyio.current_time()
    try:
        ready = _read_arguments(tool, arguments, problem)
        with anyio.move_on_after(timeout_s) as scope:
            clock = PausableClock(scope)
            asks = {"ask": _patient_ask(context.ask, clock), "ask_host": _patient_ask(context.ask_host, clock)}
            own = structs.replace(context, **asks, choose=_patient_choose(context, clock))
            result = await tool.run(ready, own)
        if scope.cancelled_caught:
            raise ToolError("TIMEOUT", f"{tool.name} took longer than {timeout_s:g} seconds and was stopped")
    except Exception as error:
        return make_failure(error, arguments, context, started)
    return _wrap(tool, result, arguments, context, started)


def _wrap(tool: Tool, result: ToolResult, arguments: dict[str, Any], context: ToolContext, started: float) -> Envelope:
    call_context = _make_context(context, arguments)
    if result.path_resolved:
        call_context["path_resolved"] = _clean(result.path_resolved)
    status, text = _cap(tool, result, context)
    failure = {"code": "EXECUTION_ERROR", "message": text or "The tool reported an error"} if status == "error" else {}
    return Envelope(status, _plain(result.data), text, _stats(started), call_context, failure, result.images)


async def check_tool(
    tool: Tool, arguments: dict[str, Any], context: ToolContext
) -> Envelope | Literal["not-done"] | None:
    """Check the outcome of a call that a crash cut short; None if it cannot be known."""
    started = anyio.current_time()
    try:
        ready = _read_arguments(tool, arguments, "")
    except ToolError:  # so its tool was never run
        return "not-done"
    if tool.check is None:
        return None
    try:
        found = await tool.check(ready, context)
    except Exception:  # whatever is wrong, it does not tell
        return None
    return _wrap(tool, found, arguments, context, started) if isinstance(found, ToolResult) else found


def render_doubtful_call(arguments: dict[str, Any], context: ToolContext, answer: str) -> Envelope:
    """Render for the model a call that a crash interrupted and that is not repeated."""
    if answer == "done":
        call_context = _make_context(context, arguments)
        text = "The call was made. What it printed is lost, since the machine stopped meanwhile."
        return Envelope("partial", {}, text, _stats(None), call_context)
    lost = "The machine stopped while this ran. Nobody knows whether it was done; it was not tried again."
    return make_failure(ToolError("EXECUTION_ERROR", lost), arguments, context)


def make_failure(
    error: Exception, arguments: dict[str, Any], context: ToolContext, started: float | None = None
) -> Envelope:
    """The envelope of a call that failed, or that was refused before its tool was run."""
    code, message = _describe(error)
    call_context = _make_context(context, arguments)
    return Envelope("error", {}, message, _stats(started), call_context, {"code": code, "message": message})


def _stats(started: float | None) -> dict[str, Any]:
    return {"time_ms": 0 if started is None else round((anyio.current_time() - started) * 1000)}


def render_for_model(envelope: Envelope) -> str:
    """Return what the model reads of a result: its text, or for an error a JSON object."""
    if not envelope.error:
        return envelope.text
    return msgspec.json.encode({"status": "error", "error": envelope.error}).decode()


def _patient_ask(ask_person: AskPerson, clock: PausableClock) -> AskPerson:
    """Ask with the clock stopped: a person may take their time."""

    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        with clock.stopped():
            return await ask_person(question, reason, dangerous=dangerous)

    return ask


def _patient_choose(context: ToolContext, clock: PausableClock) -> ChooseAnswer:
    """Put a question with the clock stopped."""

    async def choose(question: str, options: tuple[str, ...]) -> ApprovalAnswer:
        with clock.stopped():
            return await context.choose(question, options)

    return choose


def _read_arguments(tool: Tool, arguments: dict[str, Any], problem: str) -> Any:
    if problem:
        raise ToolError("INVALID_PARAM", problem)
    if tool.arguments is None:
        missing = [name for name in tool.parameters.get("required") or () if name not in arguments]
        if missing:
            raise ToolError("INVALID_PARAM", f"'{missing[0]}' is missing")
        return arguments
    # Models often write null for what they leave out.
    values = {name: value for name, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(_decode_encoded(tool, values), tool.arguments, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ToolError("INVALID_PARAM", str(error), hint=_hint_names(tool, values)) from error


def _decode_encoded(tool: Tool, values: dict[str, Any]) -> dict[str, Any]:
    """Decode lists and objects that a model wrote as JSON inside a string."""
    kinds = {name: schema.get("type") for name, schema in tool.parameters.get("properties", {}).items()}
    return {
        name: _decode_json(value) if isinstance(value, str) and kinds.get(name) in ("array", "object") else value
        for name, value in values.items()
    }


def _decode_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


def _hint_names(tool: Tool, values: Mapping[str, Any]) -> str:
    known = list(tool.parameters["properties"])
    unknown = next((name for name in values if name not in known), None)
    close = find_close(unknown, known) if unknown is not None else None
    return f"Did you mean '{close}'?" if close else f"{tool.name} takes {', '.join(known)}"


def _describe(error: Exception) -> tuple[ErrorCode, str]:
    """Return the error code and message of an exception for the model: no traceback, and of a bug only its kind."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ClawftError):
        return _code_of(error), _clean(f"{error}. {error.hint}" if error.hint else str(error))
    if isinstance(error, OSError):
        name = f": {os.path.basename(error.filename)}" if isinstance(error.filename, str) else ""
        return _code_of(error), _clean(f"{error.strerror or type(error).__name__}{name}")
    return "INTERNAL_ERROR", f"The tool failed with {type(error).__name__}, which is a bug"


def _code_of(error: ClawftError | OSError) -> ErrorCode:
    if isinstance(error, ToolError):
        return error.error_code
    if isinstance(error, Refused | PermissionError):
        return "PERMISSION_DENIED"
    if isinstance(error, NotFound | FileNotFoundError | NotADirectoryError):
        return "NOT_FOUND"
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    return "EXECUTION_ERROR"


def _cap(tool: Tool, result: ToolResult, context: ToolContext) -> tuple[ToolStatus, str]:
    """A text that is too long is cut, and the whole saved where `read_file` reaches it."""
    text = context.files.mask(_clean(result.text))  # before it is cut: half of a secret would not be known as one
    limit = tool.max_chars if result.max_chars is None else result.max_chars
    if len(text) <= limit:
        return result.status, text
    end = text.rfind("\n", limit // 2, limit) + 1 or limit
    try:
        where = f"the whole is in {save_text(context, tool.name, text)}, to be read with read_file"
    except OSError as error:
        where = f"the rest is lost, since it could not be saved: {error.strerror}"
    return "partial", f"{text[:end].rstrip()}\n[cut: {end} of {len(text)} characters are shown; {where}]"


def _make_context(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    cwd = os.path.relpath(base_folder(context) or "/", real_path(context.workspace.project) or "/")
    return {"cwd": _clean(cwd), "params_input": {_clean(k): _cut(v) for k, v in _plain(arguments).items()}}


def _cut(value: Any) -> Any:
    """Cut a long text, such as the content of a file that is written: the record need not hold it twice."""
    return shorten(value, _LONGEST_PARAM) if isinstance(value, str) else value


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return the same value, sure to be JSON: what cannot be encoded becomes text."""
    try:
        msgspec.json.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return {_clean(str(key)): _to_plain(part) for key, part in value.items()}
    return value


def _to_plain(value: Any) -> str | int | bool | None:
    if isinstance(value, str):
        return _clean(value)
    return value if isinstance(value, int | None) else f"<{type(value).__name__}>"


def _clean(text: str) -> str:
    """A text without the halves of characters that no encoder takes."""
    return text.encode("utf-8", "replace").decode()
