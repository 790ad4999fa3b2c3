"""`edit_file`: exact replacements, all or none, with line ends and encoding kept."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.tools.file_access import decode, encode
from clawft.agent.tools.file_changes import edit_file_tool

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
TOOL = edit_file_tool()


async def edit(call: Call, file: Path, before: bytes, **arguments: Any) -> Any:
    file.write_bytes(before)
    return await call(TOOL, path=file.name, **arguments)


async def test_text_is_replaced_exactly(call: Call, project: Path) -> None:
    file = project / "a.py"
    envelope = await edit(call, file, b"x = 1\ny = 2\n", old_string="x = 1", new_string="x = 3")
    assert (envelope.status, envelope.text) == ("success", "Changed a.py: 1 replacement")
    assert file.read_bytes() == b"x = 3\ny = 2\n"


async def test_text_may_be_removed(call: Call, project: Path) -> None:
    await edit(call, project / "a", b"abc", old_string="b")
    assert (project / "a").read_bytes() == b"ac"


async def test_text_that_stands_twice_is_an_error_with_the_lines(call: Call, project: Path) -> None:
    file = project / "a"
    envelope = await edit(call, file, b"x\ny\nx\n", old_string="x", new_string="z")
    assert envelope.error["code"] == "CONFLICT"
    assert "2 times, at line 1, 3" in envelope.text
    assert file.read_bytes() == b"x\ny\nx\n"


async def test_every_place_is_changed_on_demand(call: Call, project: Path) -> None:
    envelope = await edit(call, project / "a", b"x\ny\nx\n", old_string="x", new_string="z", replace_all="true")
    assert envelope.text == "Changed a: 2 replacements"
    assert (project / "a").read_bytes() == b"z\ny\nz\n"


async def test_several_edits_are_made_in_order(call: Call, project: Path) -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": True}]
    envelope = await edit(call, project / "f", b"a b", edits=edits)
    assert envelope.data == {"replacements": 3}
    assert (project / "f").read_bytes() == b"c c"


async def test_one_edit_that_fails_leaves_all_as_it_was(call: Call, project: Path) -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "missing", "new_string": "c"}]
    envelope = await edit(call, project / "f", b"a", edits=edits)
    assert envelope.error["message"].startswith("Edit 2 of 2: `old_string` is not in the file")
    assert (project / "f").read_bytes() == b"a"


async def test_windows_lines_stay_windows_lines(call: Call, project: Path) -> None:
    await edit(call, project / "f", b"a\r\nb\r\nc\r\n", old_string="a\nb", new_string="a\nx\nb")
    assert (project / "f").read_bytes() == b"a\r\nx\r\nb\r\nc\r\n"


async def test_lines_of_both_kinds_are_found_as_they_are(call: Call, project: Path) -> None:
    await edit(call, project / "f", b"a\r\nb\r\nc\r\nd\ne", old_string="d\ne", new_string="f\ng")
    assert (project / "f").read_bytes() == b"a\r\nb\r\nc\r\nf\ng"


@pytest.mark.parametrize(
    "before", [b"\xef\xbb\xbfgr\xc3\xbcn x", "grün x".encode("utf-16"), b"gr\xfcn x", "grün x".encode("utf-32")]
)
async def test_encoding_stays(call: Call, project: Path, before: bytes) -> None:
    await edit(call, project / "f", before, old_string="grün", new_string="blühend")
    was, now = decode(before), decode((project / "f").read_bytes())
    assert was is not None
    assert now is not None
    assert (now.text, now.encoding, now.mark) == ("blühend x", was.encoding, was.mark)


async def test_character_that_the_encoding_lacks_is_an_error(call: Call, project: Path) -> None:
    envelope = await edit(call, project / "f", b"gr\xfcn", old_string="n", new_string="…")
    assert "latin-1 cannot hold" in envelope.text
    assert (project / "f").read_bytes() == b"gr\xfcn"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("     1\tdef f():", "Leave out the line numbers"),
        ("        return 1", "Line 2 differs in its blanks"),
        ("    retrun 1", "The nearest is line 2: return 1"),
        ("nothing like it at all 123456", "Read the file again"),
        ("  \n", "Read the file again"),
    ],
)
async def test_text_that_is_missing_gets_a_hint(call: Call, project: Path, old: str, hint: str) -> None:
    envelope = await edit(call, project / "f", b"def f():\n    return 1\n", old_string=old, new_string="x")
    assert envelope.error["code"] == "NOT_FOUND"
    assert hint in envelope.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"old_string": "", "new_string": "x"},
        {"old_string": "a", "new_string": "a"},
        {"old_string": "a", "new_string": "b", "edits": [{"old_string": "a", "new_string": "b"}]},
        {"edits": [{"old_string": "a"}]},
        {"edits": "a"},
    ],
)
async def test_edit_that_says_nothing_is_a_wrong_parameter(call: Call, project: Path, arguments: Any) -> None:
    envelope = await edit(call, project / "f", b"a", **arguments)
    assert envelope.error["code"] == "INVALID_PARAM"


async def test_binary_missing_and_secret_files_are_refused(call: Call, project: Path) -> None:
    assert (await edit(call, project / "b", b"a\0b", old_string="a", new_string="c")).error["code"] == "INVALID_PARAM"
    assert (await call(TOOL, path="no", old_string="a", new_string="c")).error["code"] == "NOT_FOUND"
    assert (await edit(call, project / ".env", b"a", old_string="a")).error["code"] == "PERMISSION_DENIED"


async def test_mode_stays(call: Call, project: Path) -> None:
    (project / "f").touch(mode=0o755)
    await edit(call, project / "f", b"a", old_string="a", new_string="b")
    assert os.stat(project / "f").st_mode & 0o777 == 0o755


async def test_hint_for_a_large_file_comes_soon(call: Call, project: Path) -> None:
    before = b"".join(b"line number %d of many that look alike\n" % n for n in range(100_000))
    envelope = await edit(call, project / "f", before, old_string="line nunber 999x of mani", new_string="x")
    assert envelope.error["code"] == "NOT_FOUND"
    assert envelope.stats["time_ms"] < 10_000


@given(st.binary())
def test_every_text_is_written_back_as_it_was(raw: bytes) -> None:
    decoded = decode(raw)
    assert decoded is None or encode(decoded.text, decoded) == raw
