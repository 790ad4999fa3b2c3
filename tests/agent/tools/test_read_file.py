"""`read_file`: text with line numbers, pictures, and nothing that is neither."""

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.read_file import MAX_IMAGE_BYTES, read_file_tool, read_path
from clawft.agent.tools.tool import ToolError

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
TOOL = read_file_tool()
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def test_lines_come_with_their_numbers(call: Call, project: Path) -> None:
    (project / "a.txt").write_text("one\r\n\ttwo\n\nlast")
    envelope = await call(TOOL, path="a.txt")
    assert envelope.text == "     1\tone\n     2\t\ttwo\n     3\t\n     4\tlast\n"
    assert envelope.data == {"lines": 4, "total_lines": 4, "first_line": 1}
    assert envelope.context["path_resolved"] == str(project / "a.txt")
    assert envelope.status == "success"


async def test_part_of_a_file_is_read_by_offset_and_limit(call: Call, project: Path) -> None:
    (project / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 101)))
    envelope = await call(TOOL, path="a.txt", offset=50, limit=2)
    assert (envelope.status, envelope.text) == ("success", "    50\t50\n    51\t51\n")


async def test_long_file_is_cut_and_says_how_to_go_on(call: Call, project: Path) -> None:
    (project / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    envelope = await call(TOOL, path="a.txt")
    assert envelope.status == "partial"
    assert envelope.text.endswith("  2000\t2000\n[cut: lines 1 to 2000 of 5000 are shown; go on with offset=2001]")
    rest = await call(TOOL, path="a.txt", offset=2001, limit=9999)
    assert rest.status == "partial"
    assert rest.text.startswith("  2001\t2001\n")


async def test_wide_file_is_cut_below_what_a_tool_may_say(call: Call, project: Path) -> None:
    (project / "a.txt").write_text(("x" * 1000 + "\n") * 500)
    envelope = await call(TOOL, path="a.txt")
    assert envelope.status == "partial"
    assert "go on with offset=" in envelope.text.rpartition("\n")[2]
    assert len(envelope.text) < 31_000


async def test_endless_line_is_cut(call: Call, project: Path) -> None:
    (project / "a.txt").write_text("x" * 1_000_000)
    envelope = await call(TOOL, path="a.txt")
    assert envelope.text.endswith("x… [the line has 1000000 characters]\n")


async def test_offset_after_the_end_is_an_error(call: Call, project: Path) -> None:
    (project / "a.txt").write_text("one\n")
    assert "the file has 1 lines" in (await call(TOOL, path="a.txt", offset=2)).error["message"]


async def test_empty_file_is_said_to_be_empty(call: Call, project: Path) -> None:
    (project / "a.txt").touch()
    assert (await call(TOOL, path="a.txt")).text == "[the file is empty]"


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        (b"\xef\xbb\xbfgr\xc3\xbcn", ""),
        ("grün".encode("utf-16"), "[the file is in utf-16-le]\n"),
        (b"\xfe\xff" + "grün".encode("utf-16-be"), "[the file is in utf-16-be]\n"),
        ("grün".encode("utf-32"), "[the file is in utf-32-le]\n"),
        (b"gr\xfcn", "[the file is in latin-1]\n"),
    ],
)
async def test_encodings_are_understood(call: Call, project: Path, raw: bytes, note: str) -> None:
    (project / "a.txt").write_bytes(raw)
    assert (await call(TOOL, path="a.txt")).text == f"{note}     1\tgrün\n"


@pytest.mark.parametrize("raw", [b"\x7fELF\0\0\0", b"\xff\xfe\x00\xd8\x00", b"a" * 100 + b"\0"])
async def test_binary_file_is_refused(call: Call, project: Path, raw: bytes) -> None:
    (project / "a.bin").write_bytes(raw)
    envelope = await call(TOOL, path="a.bin")
    assert envelope.error == {
        "code": "INVALID_PARAM",
        "message": f"'a.bin' is no text file: it has {len(raw)} bytes of something else",
    }


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(9), "image/jpeg"),
        (b"GIF89a" + bytes(9), "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_picture_is_shown(call: Call, project: Path, raw: bytes, media_type: str) -> None:
    (project / "picture").write_bytes(raw)
    envelope = await call(TOOL, path="picture")
    (image,) = envelope.images
    assert (image.media_type, base64.b64decode(image.base64)) == (media_type, raw)
    assert media_type in envelope.text


async def test_large_picture_is_refused(call: Call, project: Path) -> None:
    (project / "a.png").write_bytes(PNG + bytes(MAX_IMAGE_BYTES))
    assert "is the limit for pictures" in (await call(TOOL, path="a.png")).error["message"]


async def test_huge_file_is_refused_at_once(call: Call, project: Path) -> None:
    with open(project / "a.txt", "wb") as file:
        file.truncate(1 << 40)
    envelope = await call(TOOL, path="a.txt")
    assert envelope.error["code"] == "INVALID_PARAM"
    assert "Look into it with grep" in envelope.text


async def test_missing_file_is_not_found(call: Call) -> None:
    assert (await call(TOOL, path="no/such.txt")).error["code"] == "NOT_FOUND"


async def test_file_as_folder_is_not_found(call: Call, project: Path) -> None:
    (project / "a.txt").touch()
    assert (await call(TOOL, path="a.txt/b")).error["code"] == "NOT_FOUND"


async def test_folder_is_no_file(call: Call) -> None:
    envelope = await call(TOOL, path=".")
    assert envelope.error["code"] == "INVALID_PARAM"
    assert "list_directory" in envelope.text


async def test_fifo_is_refused_without_waiting(call: Call, project: Path) -> None:
    os.mkfifo(project / "fifo")
    assert "is not a regular file" in (await call(TOOL, path="fifo")).text


async def test_link_out_of_the_project_is_refused(call: Call, project: Path) -> None:
    (project / "environ").symlink_to("/proc/self/environ")
    assert (await call(TOOL, path="environ")).error["code"] == "PERMISSION_DENIED"


async def test_path_is_read_for_a_caller_that_chose_the_folder(project: Path) -> None:
    (project / "real").mkdir()
    (project / "real" / "a.txt").write_text("hello")
    (project / "link").symlink_to("real")
    (project / "real" / "trap").symlink_to("/etc/passwd")
    result = await read_path(str(project / "link" / "a.txt"), shown="a.txt")
    assert result.text == "     1\thello\n"
    with pytest.raises(ToolError, match="became a link"):
        await read_path(str(project / "link" / "trap"), shown="trap")
