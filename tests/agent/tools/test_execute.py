"""One envelope for every tool call, whatever the tool does."""

import json
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from clawft.agent.tools.execution import Envelope, make_failure, render_for_model, run_tool
from clawft.agent.tools.read_file import read_file_tool
from clawft.agent.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.errors import ClawftError, NotFound, Refused
from clawft.messages import Image
from clawft.workspace import Workspace
from tool_contexts import adjust, make_context

pytestmark = pytest.mark.anyio


class Arguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="A path.")]
    count: int = 1


def make_tool(result: ToolResult | BaseException) -> Tool:
    async def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        if isinstance(result, BaseException):
            raise result
        return result

    return define_tool("try_it", "Tries it.", Arguments, run)


async def execute(tool: Tool, context: ToolContext, **arguments: Any) -> Envelope:
    return await run_tool(tool, arguments or {"path": "x"}, context, timeout_s=30)


async def test_success_has_the_keys_of_the_envelope_and_no_others(context: ToolContext) -> None:
    result = ToolResult("done", data={"n": 1}, images=(Image("image/png", "AA=="),), path_resolved="/x")
    envelope = await execute(make_tool(result), context, path="x", count=2)
    assert envelope.to_dict() == {
        "status": "success",
        "data": {"n": 1},
        "text": "done",
        "stats": {"time_ms": envelope.stats["time_ms"]},
        "context": {"cwd": ".", "params_input": {"path": "x", "count": 2}, "path_resolved": "/x"},
    }
    assert isinstance(envelope.stats["time_ms"], int)
    assert envelope.images == result.images
    assert render_for_model(envelope) == "done"


async def test_error_has_a_code_a_message_and_an_empty_object_of_data(context: ToolContext) -> None:
    envelope = await execute(make_tool(ToolError("CONFLICT", "Changed", hint="Read it again")), context)
    said = envelope.to_dict()
    assert list(said) == ["status", "data", "text", "error", "stats", "context"]
    assert (said["status"], said["data"]) == ("error", {})
    assert said["error"] == {"code": "CONFLICT", "message": "Changed. Read it again"}
    assert json.loads(render_for_model(envelope)) == {"status": "error", "error": said["error"]}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("policy", "No"), "PERMISSION_DENIED"),
        (NotFound("skill-not-found", "No"), "NOT_FOUND"),
        (ClawftError("some-error", "No"), "EXECUTION_ERROR"),
        (FileNotFoundError(2, "No such file", "/secret/place/name"), "NOT_FOUND"),
        (PermissionError(13, "Permission denied"), "PERMISSION_DENIED"),
        (TimeoutError(), "TIMEOUT"),
        (OSError(28, "No space left on device"), "EXECUTION_ERROR"),
        (ExceptionGroup("some", [ToolError("NOT_FOUND", "No")]), "NOT_FOUND"),
        (KeyError("secret-key"), "INTERNAL_ERROR"),
        (RecursionError("deep"), "INTERNAL_ERROR"),
    ],
)
async def test_every_exception_becomes_its_code(context: ToolContext, error: Exception, code: str) -> None:
    envelope = await execute(make_tool(error), context)
    assert envelope.error["code"] == code
    assert "Traceback" not in envelope.text
    assert "secret" not in envelope.text


async def test_cancellation_passes_through(context: ToolContext) -> None:
    async def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.move_on_after(0.05) as scope:
        await execute(define_tool("wait", "Waits.", Arguments, run), context)
    assert scope.cancelled_caught


async def test_interrupt_passes_through(context: ToolContext) -> None:
    with pytest.raises(KeyboardInterrupt):
        await execute(make_tool(KeyboardInterrupt()), context)


async def test_tool_that_takes_too_long_is_stopped(context: ToolContext) -> None:
    async def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError

    tool = define_tool("wait", "Waits.", Arguments, run)
    envelope = await run_tool(tool, {"path": "x"}, context, timeout_s=0.05)
    assert envelope.error == {"code": "TIMEOUT", "message": "wait took longer than 0.05 seconds and was stopped"}
    assert envelope.stats["time_ms"] >= 50


async def test_time_a_person_takes_to_answer_does_not_count(context: ToolContext) -> None:
    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        await anyio.sleep(0.3)
        return True

    async def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        return ToolResult(str(await context.ask("May I?", "")))

    adjust(context, ask=ask)
    envelope = await run_tool(define_tool("ask", "Asks.", Arguments, run), {"path": "x"}, context, timeout_s=0.2)
    assert (envelope.status, envelope.text) == ("success", "True")


async def test_clock_goes_on_after_the_answer(context: ToolContext) -> None:
    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        return True

    async def run(arguments: Arguments, context: ToolContext) -> ToolResult:
        await context.ask("May I?", "")
        await anyio.sleep_forever()
        raise AssertionError

    adjust(context, ask=ask)
    envelope = await run_tool(define_tool("ask", "Asks.", Arguments, run), {"path": "x"}, context, timeout_s=0.1)
    assert envelope.error["code"] == "TIMEOUT"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "missing required field `path`"),
        ({"path": 5}, "$.path"),
        ({"path": "x", "count": "many"}, "$.count"),
        ({"path": "x", "cuont": 1}, "Did you mean 'count'?"),
        ({"path": "x", "zzz": 1}, "try_it takes path, count"),
    ],
)
async def test_wrong_argument_is_named(context: ToolContext, arguments: dict[str, Any], message: str) -> None:
    envelope = await run_tool(make_tool(ToolResult("")), arguments, context, timeout_s=30)
    assert envelope.error["code"] == "INVALID_PARAM"
    assert message in envelope.error["message"]


async def test_number_written_as_text_and_null_are_understood(context: ToolContext) -> None:
    assert (await execute(make_tool(ToolResult("")), context, path="x", count="3")).status == "success"
    assert (await execute(make_tool(ToolResult("")), context, path="x", count=None)).status == "success"


async def test_arguments_that_are_no_json_are_an_error(context: ToolContext) -> None:
    problem = "The arguments are no JSON object"
    envelope = await run_tool(make_tool(ToolResult("")), {}, context, timeout_s=30, problem=problem)
    assert envelope.error == {"code": "INVALID_PARAM", "message": problem}


async def test_tool_with_a_schema_of_its_own_gets_the_arguments_as_they_came(context: ToolContext) -> None:
    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult(repr(arguments))

    tool = Tool("outer", "From a server.", run, {"type": "object", "required": ["q"]})
    assert (await run_tool(tool, {"q": None, "more": 1}, context, timeout_s=30)).text == "{'q': None, 'more': 1}"
    missing = await run_tool(tool, {"more": 1}, context, timeout_s=30)
    assert missing.error == {"code": "INVALID_PARAM", "message": "'q' is missing"}


async def test_long_text_is_cut_and_the_whole_can_be_read(context: ToolContext) -> None:
    text = "".join(f"line {n}\n" for n in range(10_000))
    envelope = await execute(make_tool(ToolResult(text)), context)
    assert envelope.status == "partial"
    assert len(envelope.text) < 33_000
    *_, last_line, note = envelope.text.split("\n")
    assert f"of {len(text)} characters are shown; the whole is in " in note
    assert last_line.startswith("line ")
    path = note.partition("the whole is in ")[2].partition(",")[0]
    assert Path(path).read_text() == text
    assert Path(path).stat().st_mode & 0o777 == 0o600
    read = await execute(read_file_tool(), context, path=path, offset=9_999)
    assert read.text == "  9999\tline 9998\n 10000\tline 9999\n"


async def test_text_is_cut_even_if_it_cannot_be_saved(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    adjust(context, spill_dir=str(tmp_path / "file" / "spill"))
    envelope = await execute(make_tool(ToolResult("x" * 40_000)), context)
    assert envelope.text.endswith("the rest is lost, since it could not be saved: Not a directory]")


async def test_long_argument_is_told_by_its_start(context: ToolContext) -> None:
    envelope = await execute(make_tool(ToolResult("")), context, path="x" * 5000)
    assert envelope.context["params_input"]["path"] == "x" * 2000 + "… (5000 characters)"


async def test_half_characters_reach_nobody(context: ToolContext) -> None:
    result = ToolResult("a\ud800b", data={"name": "\udc80", "deep": ["\ud800"]}, path_resolved="/\udcff")
    envelope = await execute(make_tool(result), context, path="\ud800")
    assert msgspec.json.decode(msgspec.json.encode(envelope.to_dict()))["text"] == "a?b"
    assert envelope.data == {"name": "?", "deep": "<list>"}


async def test_arguments_nested_without_end_are_told_briefly(context: ToolContext) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    envelope = await execute(make_tool(ToolResult("")), context, path="x", count=deep)
    assert envelope.error["code"] == "INVALID_PARAM"
    assert envelope.context["params_input"]["count"] == "<list>"


async def test_call_refused_before_it_ran_has_an_envelope_too(context: ToolContext) -> None:
    envelope = make_failure(ToolError("PERMISSION_DENIED", "Not in this turn"), {"a": 1}, context)
    assert envelope.error == {"code": "PERMISSION_DENIED", "message": "Not in this turn"}
    assert envelope.to_dict()["context"] == {"cwd": ".", "params_input": {"a": 1}}


@given(st.text(st.characters(codec=None, exclude_categories=())), st.sampled_from(["tool", "os", "any"]))
def test_any_message_gives_valid_json(message: str, kind: str) -> None:
    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        return False

    workspace = Workspace("/", "/nowhere", "/", "/")
    context = make_context(workspace, {}, "/nowhere", ask)
    errors = {"tool": ToolError("CONFLICT", message), "os": OSError(5, message, message), "any": ValueError(message)}
    envelope = make_failure(errors[kind], {message: message}, context)
    said = json.loads(render_for_model(envelope))
    assert said == {"status": "error", "error": envelope.error}
    assert msgspec.json.decode(msgspec.json.encode(envelope.to_dict())) == envelope.to_dict()
    if kind == "tool":
        assert said["error"]["message"] == message.encode("utf-8", "replace").decode()
