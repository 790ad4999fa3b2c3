"""What is found out about changes of files that a crash cut short, and what comes of those that are made again."""

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawft.agent.tools.execution import check_tool, run_tool
from clawft.agent.tools.file_changes import edit_file_tool, write_file_tool
from clawft.agent.tools.saved_files import MANIFEST, load_originals, load_saved
from clawft.agent.tools.tool import Tool, ToolContext, ToolError
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
EDIT, WRITE = edit_file_tool(), write_file_tool()
ADD = {"path": "a.txt", "old_string": "one", "new_string": "one\ntwo"}  # made twice, it would add twice
DONE = "Changed a.txt, before the crash"
TWO = {"edits": [{"old_string": "a", "new_string": "c"}, {"old_string": "b", "new_string": "d"}]}


@pytest.fixture
def context(context: ToolContext) -> ToolContext:
    """A context of a run that goes on after a crash."""
    adjust(context, call="run-1/4.0")
    return context


class Crash(BaseException):
    """What no tool can catch."""


def crash_at(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    def crash(*_args: Any, **_kwargs: Any) -> None:
        raise Crash

    monkeypatch.setattr(f"clawft.agent.tools.file_changes.{function}", crash)


async def crash_in(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> None:
    with pytest.raises(Crash):
        await run_tool(tool, arguments, context, timeout_s=60)


async def found_out(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> str | None:
    """What is told of a call: its text, that it was not made, or nothing."""
    found = await check_tool(tool, arguments, context)
    return found if found is None or isinstance(found, str) else found.text


async def test_an_edit_before_its_crash_was_not_made_and_can_be(context: ToolContext, project: Path) -> None:
    (project / "a.txt").write_text("one\n")
    assert await found_out(EDIT, ADD, context) == "not-done"
    await run_tool(EDIT, ADD, context, timeout_s=60)
    assert (project / "a.txt").read_text() == "one\ntwo\n"


async def test_an_edit_that_kept_the_file_and_went_no_further_was_not_made(
    context: ToolContext, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.txt").write_text("one\n")
    with monkeypatch.context() as patch:
        crash_at(patch, "write_file_at")
        await crash_in(EDIT, ADD, context)
    assert await found_out(EDIT, ADD, context) == "not-done"
    (project / "a.txt").write_text("one, and what a person added\n")
    assert await found_out(EDIT, ADD, context) is None


async def test_an_edit_after_which_the_crash_came_is_told_as_it_would_have_been(
    context: ToolContext, project: Path
) -> None:
    (project / "a.txt").write_text("one\n")
    made = await run_tool(EDIT, ADD, context, timeout_s=60)
    found = await check_tool(EDIT, ADD, context)
    assert found is not None
    assert not isinstance(found, str)
    assert (found.text, found.data, found.context) == (made.text, made.data, made.context)
    assert (project / "a.txt").read_text() == "one\ntwo\n"


async def test_the_same_edit_of_another_call_says_nothing_of_this_one(context: ToolContext, project: Path) -> None:
    (project / "a.txt").write_text("one\n")
    await run_tool(EDIT, ADD, context, timeout_s=60)
    adjust(context, call="run-1/5.0")
    assert await found_out(EDIT, ADD, context) is None  # the old text stands in the new one: it may be either
    adjust(context, call="")
    assert await found_out(EDIT, ADD, context) is None


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("x = 1\n", {"old_string": "x = 1", "new_string": "x = 2"}, "not-done"),
        ("x = 2\n", {"old_string": "x = 1", "new_string": "x = 2"}, DONE),
        ("x = 3\n", {"old_string": "x = 1", "new_string": "x = 2"}, None),
        ("x = 1\nx = 2\n", {"old_string": "x = 1", "new_string": "x = 2"}, "not-done"),
        ("x = 1\nx = 1\n", {"old_string": "x = 1", "new_string": "x = 2"}, None),
        ("a a\n", {"old_string": "a", "new_string": "b", "replace_all": True}, "not-done"),
        ("b b\n", {"old_string": "a", "new_string": "b", "replace_all": True}, DONE),
        ("ab ab\n", {"old_string": "a", "new_string": "ab", "replace_all": True}, None),
        ("ab a\n", {"old_string": "a", "new_string": "ab", "replace_all": True}, "not-done"),
        ("gone\n", {"old_string": "gone"}, "not-done"),
        ("\n", {"old_string": "gone"}, None),  # nothing tells that it ever was there
        ("1\r\n2\r\n", {"old_string": "1\n2", "new_string": "3\n4"}, "not-done"),
        ("3\r\n4\r\n", {"old_string": "1\n2", "new_string": "3\n4"}, DONE),
        ("a b", TWO, "not-done"),
        ("c d", TWO, DONE),
        ("c b", TWO, None),
        ("a\0b", {"old_string": "a", "new_string": "b"}, None),
        ("x", {"old_string": "", "new_string": "b"}, None),
    ],
)  # fmt: skip
async def test_where_nothing_was_kept_the_texts_tell_of_an_edit(
    context: ToolContext, project: Path, text: str, arguments: dict[str, Any], told: str | None
) -> None:
    (project / "a.txt").write_bytes(text.encode())
    assert await found_out(EDIT, {"path": "a.txt", **arguments}, context) == told
    assert (project / "a.txt").read_bytes() == text.encode()


async def test_of_a_file_that_is_gone_nothing_is_told(context: ToolContext) -> None:
    assert await found_out(EDIT, ADD, context) is None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text("ab\n", min_size=1, max_size=9),
    cuts=st.lists(
        st.tuples(st.integers(0, 8), st.integers(1, 3), st.text("abc\n", max_size=4)), min_size=1, max_size=3
    ),
    number=st.uuids(),
)
async def test_no_edit_is_taken_for_the_other_case(
    context: ToolContext, project: Path, text: str, cuts: list[tuple[int, int, str]], number: UUID
) -> None:
    file = project / "a.txt"
    olds = [(text[at : at + length] or text, new) for at, length, new in cuts]
    edits = [{"old_string": old, "new_string": new, "replace_all": True} for old, new in olds if old != new]
    arguments: dict[str, Any] = {"path": "a.txt", "edits": edits}
    adjust(context, call=str(number))
    file.write_text(text)
    made = await run_tool(EDIT, arguments, context, timeout_s=60)
    changed = file.read_text() != text
    if made.status == "success":
        assert await found_out(EDIT, arguments, context) == (made.text if changed else "not-done")
    else:
        assert not changed
    file.write_text(text)
    assert await found_out(EDIT, arguments, context) == "not-done" or made.status == "error"


async def test_a_write_that_is_repeated_leaves_the_file_the_result_and_the_undo_as_they_were(
    context: ToolContext, project: Path
) -> None:
    arguments = {"path": "a.txt", "content": "new"}
    (project / "a.txt").write_text("old")
    first = await run_tool(WRITE, arguments, context, timeout_s=60)
    status = (project / "a.txt").stat()
    second = await run_tool(WRITE, arguments, context, timeout_s=60)
    assert (second.text, second.data) == (first.text, first.data)
    assert (project / "a.txt").stat().st_ino == status.st_ino
    assert kept(context) == [("a.txt", b"old")]


async def test_a_write_that_was_cut_short_is_made_and_what_it_replaced_is_kept(
    context: ToolContext, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("made.txt", "changed.txt"):
        arguments = {"path": name, "content": "new"}
        adjust(context, call=name)
        if name == "changed.txt":
            (project / name).write_text("old")
        with monkeypatch.context() as patch:
            crash_at(patch, "write_file_at")
            await crash_in(WRITE, arguments, context)
        envelope = await run_tool(WRITE, arguments, context, timeout_s=60)
        assert envelope.data["created"] is (name == "made.txt")
        assert (project / name).read_text() == "new"
    assert dict(kept(context)) == {"made.txt": b"", "changed.txt": b"old"}


async def test_a_file_that_was_made_is_told_as_made_also_when_its_write_is_repeated(
    context: ToolContext, project: Path
) -> None:
    arguments = {"path": "new.txt", "content": "x"}
    told = [await run_tool(WRITE, arguments, context, timeout_s=60) for _ in range(3)]
    assert [one.text for one in told] == ["Created new.txt: 1 bytes"] * 3
    assert len((Path(context.files.keep_dir) / MANIFEST).read_text().splitlines()) == 1
    assert kept(context) == [("new.txt", b"")]


async def test_a_repeated_write_does_not_replace_what_a_person_wrote_since(context: ToolContext, project: Path) -> None:
    arguments = {"path": "a.txt", "content": "agent"}
    await run_tool(WRITE, arguments, context, timeout_s=60)
    (project / "a.txt").write_text("person")
    again = await run_tool(WRITE, arguments, context, timeout_s=60)
    assert again.error["code"] == "CONFLICT"
    assert (project / "a.txt").read_text() == "person"
    adjust(context, call="run-1/6.0")  # a call that the model makes anew may
    assert (await run_tool(WRITE, arguments, context, timeout_s=60)).status == "success"
    assert (project / "a.txt").read_text() == "agent"


def kept(context: ToolContext) -> list[tuple[str, bytes]]:
    """The files that were changed, each with what it held before."""
    made = load_originals(context.files.keep_dir)
    return [
        (os.path.basename(one.path), load_saved(context.files.keep_dir, one.saved) if one.saved else b"")
        for one in made
    ]


async def test_where_a_rule_came_meanwhile_nothing_is_told(context: ToolContext, project: Path) -> None:
    def refuse(_real: str) -> None:
        raise ToolError("PERMISSION_DENIED", "a rule came meanwhile")

    adjust(context, check_path=refuse)
    (project / "a.txt").write_text("one\n")
    assert await found_out(EDIT, ADD, context) is None
