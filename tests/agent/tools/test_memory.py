"""`memory_read` and `memory_write`, as a model calls them."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.agent.memory import MemoryFiles
from clawft.agent.tools.builtin import memory_tools
from clawft.agent.tools.tool import ToolError, ToolResult
from clawft.workspace import Workspace
from tool_contexts import make_context

pytestmark = pytest.mark.anyio


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryFiles]:
    with closing(MemoryFiles(str(tmp_path / "memory"))) as opened:
        yield opened


async def call(memory: MemoryFiles, name: str, **arguments: Any) -> ToolResult:
    async def refuse(question: str, reason: str, *, dangerous: bool = False) -> bool:
        return False

    folder = memory.folder
    context = make_context(Workspace(folder, folder, folder, folder), {}, folder, refuse)
    tool = next(tool for tool in memory_tools(memory) if tool.name == name)
    assert tool.arguments is not None
    return await tool.run(msgspec.convert(arguments, tool.arguments), context)


async def test_what_is_written_is_read_by_key_and_found_by_query(memory: MemoryFiles) -> None:
    written = await call(memory, "memory_write", key="project/deploy", content="Run `make release` on main.")
    await call(memory, "memory_write", key="project/deploy", content="Never on Fridays.", mode="append")

    assert written.text == "Remembered 'project/deploy'."
    read = await call(memory, "memory_read", key="project/deploy")
    assert read.text == "Run `make release` on main.\n\nNever on Fridays."
    found = await call(memory, "memory_read", query="how do we release?")
    assert found.text == f"## project/deploy\n{read.text}"
    (result,) = found.data["results"]
    assert (result["key"], result["value"], result["metadata"]) == ("project/deploy", read.text, None)
    assert 0 < result["score"] <= 1


async def test_without_arguments_all_keys_are_listed(memory: MemoryFiles) -> None:
    assert (await call(memory, "memory_read")).text == "The memory is empty."
    await call(memory, "memory_write", key="a", content="x")
    await call(memory, "memory_write", key="b", content="y", mode="append")

    listed = await call(memory, "memory_read")

    assert listed.text == "Keys:\n- a\n- b"
    assert listed.data == {"keys": ["a", "b"]}


async def test_long_list_of_keys_is_cut_and_says_so(memory: MemoryFiles, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "MEMORY.md").write_text("".join(f"## key {number}\n" for number in range(600)))

    listed = await call(memory, "memory_read")

    assert listed.text.endswith("- key 499\nand 100 more; search for them")
    assert len(listed.data["keys"]) == 600


async def test_what_is_deleted_is_gone(memory: MemoryFiles) -> None:
    await call(memory, "memory_write", key="a", content="x")
    assert (await call(memory, "memory_write", key="a", mode="delete")).text == "Forgot 'a'."
    for name, arguments in (("memory_read", {}), ("memory_write", {"mode": "delete"})):
        with pytest.raises(ToolError) as raised:
            await call(memory, name, key="a", **arguments)
        assert raised.value.error_code == "NOT_FOUND"


async def test_unknown_key_names_the_close_one(memory: MemoryFiles) -> None:
    await call(memory, "memory_write", key="deploy", content="x")
    with pytest.raises(ToolError) as raised:
        await call(memory, "memory_read", key="deplo")
    assert raised.value.hint == "Did you mean 'deploy'?"


async def test_query_that_nothing_fits_says_so(memory: MemoryFiles) -> None:
    result = await call(memory, "memory_read", query="zebra")
    assert (result.text, result.data) == ("Nothing in the memory matches.", {"results": []})


@pytest.mark.parametrize(
    ("key", "content"), [("two\nlines", "x"), ("a", "\x1b[31m"), ("a", "x" * 70_000), ("a", " \n"), (" ", "x")]
)
async def test_what_cannot_be_kept_is_a_wrong_parameter(memory: MemoryFiles, key: str, content: str) -> None:
    with pytest.raises(ToolError) as raised:
        await call(memory, "memory_write", key=key, content=content)
    assert raised.value.error_code == "INVALID_PARAM"
    assert raised.value.hint
    assert memory.list_keys() == ()


async def test_file_that_cannot_be_used_is_an_error_with_its_reason(memory: MemoryFiles, tmp_path: Path) -> None:
    (tmp_path / "memory" / "MEMORY.md").mkdir(parents=True)
    with pytest.raises(ToolError) as raised:
        await call(memory, "memory_read", key="a")
    assert raised.value.error_code == "EXECUTION_ERROR"
    (tmp_path / "other").write_text("")
    with pytest.raises(ToolError) as raised:
        await call(MemoryFiles(str(tmp_path / "other" / "memory")), "memory_write", key="a", content="x")
    assert raised.value.error_code == "PERMISSION_DENIED"


def test_schemas_say_what_is_required(memory: MemoryFiles) -> None:
    read, write = memory_tools(memory)
    assert read.read_only
    assert not write.read_only
    assert "required" not in read.parameters
    assert write.parameters["required"] == ["key"]
    assert write.parameters["properties"]["mode"]["enum"] == ["append", "delete", "replace"]
