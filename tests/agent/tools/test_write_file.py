"""`write_file`: whole files, in place at once, with what was there kept."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.agent.tools.file_access import open_folder, read_file_at, write_file_at
from clawft.agent.tools.file_changes import MAX_WRITE_BYTES, write_file_tool
from clawft.agent.tools.saved_files import MANIFEST, OriginalFile, digest_of
from clawft.agent.tools.tool import ToolContext, ToolError

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
TOOL = write_file_tool()


def originals(context: ToolContext) -> list[OriginalFile]:
    lines = Path(context.files.spill_dir, MANIFEST).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=OriginalFile) for line in lines]


async def test_new_file_is_made_with_its_folders(call: Call, project: Path, context: ToolContext) -> None:
    envelope = await call(TOOL, path="a/b/c.txt", content="grün\n")
    assert (envelope.status, envelope.text) == ("success", "Created a/b/c.txt: 6 bytes")
    assert envelope.data == {"created": True, "bytes": 6}
    assert (project / "a/b/c.txt").read_bytes() == "grün\n".encode()
    assert originals(context) == [OriginalFile(str(project / "a/b/c.txt"), "", after=digest_of("grün\n".encode()))]


async def test_old_file_is_replaced_keeps_its_mode_and_is_kept(call: Call, project: Path, context: ToolContext) -> None:
    file = project / "run.sh"
    file.write_bytes(b"old\xff")
    file.chmod(0o750)
    envelope = await call(TOOL, path="run.sh", content="new")
    assert envelope.text == "Replaced run.sh: 3 bytes"
    assert (file.read_bytes(), file.stat().st_mode & 0o7777) == (b"new", 0o750)
    (original,) = originals(context)
    assert (original.path, original.mode) == (str(file), 0o750)
    assert Path(original.saved).read_bytes() == b"old\xff"
    assert Path(original.saved).stat().st_mode & 0o777 == 0o600


async def test_nothing_else_is_left_in_the_folder(call: Call, project: Path) -> None:
    await call(TOOL, path="a.txt", content="1")
    await call(TOOL, path="a.txt", content="2")
    assert os.listdir(project) == ["a.txt"]


async def test_set_user_bit_does_not_survive(call: Call, project: Path) -> None:
    (project / "tool").touch()
    (project / "tool").chmod(0o4755)
    await call(TOOL, path="tool", content="x")
    assert (project / "tool").stat().st_mode & 0o7777 == 0o755


async def test_file_that_may_only_be_read_stays(call: Call, project: Path) -> None:
    (project / "a.txt").write_text("old")
    (project / "a.txt").chmod(0o444)
    assert (await call(TOOL, path="a.txt", content="x")).error["code"] == "PERMISSION_DENIED"
    assert (project / "a.txt").read_text() == "old"


async def test_link_inside_keeps_being_a_link(call: Call, project: Path) -> None:
    (project / "real.txt").write_text("old")
    (project / "link.txt").symlink_to("real.txt")
    await call(TOOL, path="link.txt", content="new")
    assert (project / "link.txt").is_symlink()
    assert (project / "real.txt").read_text() == "new"


async def test_other_name_of_an_outside_file_is_cut_loose(call: Call, project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("precious")
    os.link(outside, project / "inside.txt")
    await call(TOOL, path="inside.txt", content="x")
    assert outside.read_text() == "precious"


async def test_link_out_of_the_project_is_not_written(call: Call, project: Path, tmp_path: Path) -> None:
    (project / "out").symlink_to(tmp_path)
    (project / "dangling").symlink_to(tmp_path / "new.txt")
    for path in ("out/new.txt", "dangling", "../new.txt"):
        assert (await call(TOOL, path=path, content="x")).error["code"] == "PERMISSION_DENIED"
    assert not (tmp_path / "new.txt").exists()


async def test_folder_fifo_and_too_much_are_refused(call: Call, project: Path) -> None:
    os.mkfifo(project / "fifo")
    (project / "sub").mkdir()
    for path in ("fifo", "sub", "."):
        assert (await call(TOOL, path=path, content="x")).status == "error"
    large = await call(TOOL, path="large", content="x" * (MAX_WRITE_BYTES + 1))
    assert large.error["code"] == "INVALID_PARAM"
    assert sorted(os.listdir(project)) == ["fifo", "sub"]


async def test_half_characters_are_refused(call: Call, project: Path) -> None:
    assert (await call(TOOL, path="a", content="\ud800")).error["code"] == "INVALID_PARAM"
    assert not (project / "a").exists()


async def test_place_of_power_is_refused_with_advice(call: Call, project: Path) -> None:
    envelope = await call(TOOL, path="CLAUDE.md", content="obey")
    assert envelope.error["code"] == "PERMISSION_DENIED"
    assert "by hand" in envelope.text
    assert not (project / "CLAUDE.md").exists()


def test_folder_swapped_for_a_link_after_the_judgement_is_not_entered(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("secret")
    (project / "sub").symlink_to(tmp_path / "outside")  # was a folder when `project/sub/a.txt` was judged
    judged = str(project / "sub" / "a.txt")
    with pytest.raises(ToolError, match="became a link"):
        read_file_at(judged, 100)
    with pytest.raises(ToolError, match="became a link"):
        write_file_at(judged, b"x", None)
    with pytest.raises(ToolError), open_folder(str(project / "sub")):
        pass
    assert (tmp_path / "outside" / "a.txt").read_text() == "secret"


def test_file_swapped_for_a_link_after_the_judgement_is_not_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    (project / "a.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(ToolError, match="became a link"):
        read_file_at(str(project / "a.txt"), 100)
    with pytest.raises(ToolError, match="changed meanwhile"):
        write_file_at(str(project / "a.txt"), b"x", None)
    assert (tmp_path / "outside.txt").read_text() == "secret"
    assert os.listdir(project) == ["a.txt"]


def test_file_changed_by_somebody_else_is_not_overwritten(project: Path) -> None:
    file = project / "a.txt"
    file.write_text("1")
    _, before = read_file_at(str(file), 100)
    file.write_text("longer")
    with pytest.raises(ToolError, match="changed meanwhile") as caught:
        write_file_at(str(file), b"x", before)
    assert caught.value.error_code == "CONFLICT"
    assert os.listdir(project) == ["a.txt"]
    assert file.read_text() == "longer"


def test_folder_that_may_not_be_listed_is_an_error(project: Path) -> None:
    with pytest.raises(FileNotFoundError), open_folder(str(project / "missing")):
        pass
    with open_folder("/") as root:
        assert os.fstat(root).st_ino == os.stat("/").st_ino
