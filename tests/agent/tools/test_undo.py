"""Undo: files go back to what they held before a turn; what others changed since is told; an undo can be undone."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.file_changes import UndoPlan, edit_file_tool, find_undo, run_undo, write_file_tool
from clawft.agent.tools.saved_files import MANIFEST
from clawft.agent.tools.tool import ToolContext
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
WRITE, EDIT = write_file_tool(), edit_file_tool()


def undo(context: ToolContext, *, redo: bool = False) -> dict[str, str]:
    """Take the last change back, whole."""
    found = find_undo(context.files.keep_dir, context.workspace.project, redo=redo)
    assert found is not None
    told = run_undo(context.files.keep_dir, found, {step.path for step in found.steps})
    return {os.path.basename(path): why for path, why in told.items()}


def plan(context: ToolContext) -> UndoPlan:
    found = find_undo(context.files.keep_dir, context.workspace.project)
    assert found is not None
    return found


async def test_changed_file_goes_back_and_made_file_is_removed(call: Call, project: Path, context: ToolContext) -> None:
    (project / "old.txt").write_text("one\n")
    await call(WRITE, path="new.txt", content="x")
    await call(EDIT, path="old.txt", old_string="one", new_string="two")
    await call(EDIT, path="old.txt", old_string="two", new_string="three")
    assert undo(context) == {"new.txt": "", "old.txt": ""}
    assert [one.name for one in project.iterdir()] == ["old.txt"]
    assert (project / "old.txt").read_text() == "one\n"


async def test_undo_can_be_undone_and_done_again(call: Call, project: Path, context: ToolContext) -> None:
    (project / "a.txt").write_text("old")
    (project / "a.txt").chmod(0o750)
    await call(WRITE, path="a.txt", content="new")
    await call(WRITE, path="b.txt", content="made")
    for _ in range(2):
        undo(context)
        assert ((project / "a.txt").read_text(), (project / "b.txt").exists()) == ("old", False)
        undo(context, redo=True)
        assert ((project / "a.txt").read_text(), (project / "b.txt").read_text()) == ("new", "made")
    assert (project / "a.txt").stat().st_mode & 0o777 == 0o750


async def test_undo_goes_back_turn_by_turn(call: Call, project: Path, context: ToolContext) -> None:
    for turn in (1, 2, 3):
        adjust(context, turn=turn)
        await call(WRITE, path="a.txt", content=str(turn))
    assert plan(context).turn == 3
    undo(context)
    assert (project / "a.txt").read_text() == "2"
    undo(context)
    assert (project / "a.txt").read_text() == "1"
    undo(context, redo=True)
    assert (project / "a.txt").read_text() == "2"
    adjust(context, turn=4)
    await call(WRITE, path="a.txt", content="4")
    assert find_undo(context.files.keep_dir, str(project), redo=True) is None
    undo(context)
    assert (project / "a.txt").read_text() == "2"


async def test_file_that_a_person_changed_since_is_told(call: Call, project: Path, context: ToolContext) -> None:
    await call(WRITE, path="a.txt", content="agent")
    await call(WRITE, path="b.txt", content="agent")
    (project / "a.txt").write_text("person")
    assert {os.path.basename(step.path): step.changed for step in plan(context).steps} == {
        "a.txt": True,
        "b.txt": False,
    }
    undo(context)
    undo(context, redo=True)
    assert (project / "a.txt").read_text() == "person"


async def test_file_that_changed_after_the_question_stays(call: Call, project: Path, context: ToolContext) -> None:
    await call(WRITE, path="a.txt", content="agent")
    asked = plan(context)
    (project / "a.txt").write_text("person")
    assert list(run_undo(context.files.keep_dir, asked, {str(project / "a.txt")}).values()) == [
        "it was changed just now"
    ]
    assert (project / "a.txt").read_text() == "person"


async def test_file_that_was_removed_comes_back_with_its_rights(
    call: Call, project: Path, context: ToolContext
) -> None:
    (project / "run.sh").write_text("old")
    (project / "run.sh").chmod(0o755)
    await call(WRITE, path="run.sh", content="new")
    (project / "run.sh").unlink()
    assert plan(context).steps[0].changed
    undo(context)
    assert ((project / "run.sh").read_text(), (project / "run.sh").stat().st_mode & 0o777) == ("old", 0o755)


async def test_what_is_as_it_was_is_no_part_of_an_undo(call: Call, project: Path, context: ToolContext) -> None:
    adjust(context, turn=1)
    await call(WRITE, path="a.txt", content="one")
    adjust(context, turn=2)
    await call(WRITE, path="a.txt", content="two")
    (project / "a.txt").write_text("one")
    assert plan(context).turn == 1


async def test_nothing_is_written_outside_the_project_or_through_a_link(
    call: Call, project: Path, context: ToolContext, tmp_path: Path
) -> None:
    (project / "sub").mkdir()
    (project / "sub/a.txt").write_text("old")
    await call(WRITE, path="sub/a.txt", content="new")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.txt").write_text("new")
    (project / "sub").rename(project / "moved")
    (project / "sub").symlink_to(tmp_path / "elsewhere")
    assert plan(context).steps[0].problem
    assert (tmp_path / "elsewhere/a.txt").read_text() == "new"
    found = find_undo(context.files.keep_dir, str(tmp_path / "other"))
    assert found is not None
    assert found.steps[0].problem == "it is in another project"


async def test_manifest_with_a_torn_line_and_a_lost_original(call: Call, project: Path, context: ToolContext) -> None:
    (project / "a.txt").write_text("old")
    await call(WRITE, path="a.txt", content="new")
    manifest = Path(context.files.keep_dir, MANIFEST)
    with manifest.open("ab") as file:
        file.write(b'{"path": "/etc/pas')
    for saved in manifest.parent.iterdir():
        if saved != manifest:
            saved.unlink()
    assert plan(context).steps[0].problem == "what it held before is gone"
    assert undo(context) == {"a.txt": "what it held before is gone"}


async def test_manifest_of_an_older_version_asks_in_doubt(call: Call, project: Path, context: ToolContext) -> None:
    await call(WRITE, path="a.txt", content="new")
    manifest = Path(context.files.keep_dir, MANIFEST)
    manifest.write_text(f'{{"path": "{project / "a.txt"}", "saved": "", "mode": 0}}\n')
    assert plan(context).steps[0].changed


def test_nothing_to_undo(context: ToolContext) -> None:
    assert find_undo(context.files.keep_dir, context.workspace.project) is None
