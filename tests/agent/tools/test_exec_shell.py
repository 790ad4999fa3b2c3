"""`exec_shell`: judged, asked for, bounded, and run with no more environment than was named."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.environment import SuppliedVariables
from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.execution import run_tool
from clawft.agent.tools.tool import Tool, ToolContext
from clawft.config.tools import CommandPolicyMode, ExecSettings
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.modes import Mode
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
Questions = list[tuple[str, str]]


def make_tool(**settings: Any) -> Tool:
    chosen = ExecSettings(**settings)
    return exec_shell_tool(chosen, CommandPolicy(chosen))


def free_tool(**settings: Any) -> Tool:
    return make_tool(mode=CommandPolicyMode.DISABLED, **settings)


async def test_listed_command_runs_at_once_in_the_project(call: Call, project: Path, questions: Questions) -> None:
    envelope = await call(make_tool(), command="pwd; echo done")
    assert (envelope.status, envelope.text) == ("success", f"{project}\ndone")
    assert (envelope.data["exit_code"], questions) == (0, [])


@pytest.fixture
def asking(context: ToolContext) -> ToolContext:
    """A session in mode ask."""
    adjust(context, mode=Mode.ASK)
    return context


async def test_in_the_sandbox_any_text_runs_unasked(call: Call, project: Path, questions: Questions) -> None:
    envelope = await call(
        make_tool(), command="for n in 1 2; do\n  touch made$n; done && eval $(echo echo x)\nls made*"
    )
    assert (envelope.status, envelope.text, questions) == ("success", "x\nmade1\nmade2", [])


@pytest.mark.usefixtures("asking")
async def test_text_that_is_not_understood_is_asked_about_in_full(call: Call, questions: Questions) -> None:
    text = "eval $(cat x)\nif [ -e y ]; then >"
    envelope = await call(make_tool(), command=text)
    assert envelope.error["code"] == "PERMISSION_DENIED"
    assert questions == [(f"Run: {text}", "not all of it is shell that weft can read")]


@pytest.mark.usefixtures("asking")
async def test_command_off_the_list_needs_an_answer(call: Call, project: Path, questions: Questions) -> None:
    envelope = await call(make_tool(), command="touch made")
    assert envelope.error["code"] == "PERMISSION_DENIED"
    assert "needs approval" in envelope.text
    ((question, reason),) = questions
    assert question == "Run: touch made"
    assert "touch" in reason
    assert not (project / "made").exists()


async def test_approved_command_runs(call: Call, project: Path, context: ToolContext) -> None:
    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        return True

    adjust(context, ask=ask, mode=Mode.ASK)
    assert (await call(make_tool(), command="touch made")).text == "[no output]"
    assert (project / "made").exists()


@pytest.mark.usefixtures("asking")
async def test_question_names_the_folder_and_hides_nothing(call: Call, project: Path, questions: Questions) -> None:
    (project / "sub").mkdir()
    await call(make_tool(), command="touch a \u202eb", cwd="sub")
    assert questions[-1][0] == "Run: touch a \\u202eb (in sub)"
    await call(make_tool(), command="touch a", cwd="sub")
    assert questions[-1][0] == "Run: touch a (in sub)"


OUTSIDE = pytest.mark.parametrize("path", ["/etc/shadow", "../x", "~/x", "out/x", ".env"])


@OUTSIDE
@pytest.mark.usefixtures("asking")
async def test_listed_command_that_reads_elsewhere_asks(
    call: Call, project: Path, tmp_path: Path, questions: Questions, path: str
) -> None:
    (project / "out").symlink_to(tmp_path)
    assert (await call(make_tool(), command=f"cat {path}")).error["code"] == "PERMISSION_DENIED"
    assert len(questions) == 1


@OUTSIDE
async def test_unasked_command_that_reads_elsewhere_finds_nothing(
    call: Call, project: Path, tmp_path: Path, context: ToolContext, path: str
) -> None:
    (project / "out").symlink_to(tmp_path)
    for place in (tmp_path / "x", Path(context.workspace.home) / "x", project / ".env"):
        place.write_text("hidden")
    envelope = await call(make_tool(), command=f"cat {path}")
    assert (envelope.status, "hidden" in envelope.text, "root:" in envelope.text) == ("partial", False, False)


async def test_folder_to_run_in_must_be_inside(call: Call, project: Path) -> None:
    (project / "sub").mkdir()
    (project / "file").touch()
    assert (await call(make_tool(), command="pwd", cwd="sub")).text == f"{project}/sub"
    assert (await call(make_tool(), command="pwd", cwd="..")).error["code"] == "PERMISSION_DENIED"
    assert (await call(make_tool(), command="pwd", cwd="file")).error["code"] == "INVALID_PARAM"


async def test_code_other_than_zero_is_told_with_the_output(call: Call) -> None:
    envelope = await call(free_tool(), command="echo out; echo err >&2; exit 7")
    assert envelope.status == "partial"
    assert envelope.text.startswith("out\nerr\n[exit code 7 after 0.")
    assert envelope.data["exit_code"] == 7


async def test_environment_does_not_leak(call: Call, context: ToolContext) -> None:
    adjust(context, take_shell_env=lambda: SuppliedVariables({"SKILL_KEY": "for-this-skill"}))
    text = (await call(free_tool(), command="env")).text
    assert "MARKED_SECRET" not in text
    assert "s3cret-marker" not in text
    assert "SKILL_KEY=for-this-skill" in text
    assert f"HOME={context.workspace.home}" in text
    assert not set(os.environ.values()) & {"s3cret-marker"}


async def test_variable_that_the_user_named_is_passed_on(call: Call) -> None:
    text = (await call(free_tool(env=("PATH", "MARKED_SECRET")), command="env")).text
    assert "MARKED_SECRET=s3cret-marker" in text
    assert "HOME=" not in text


async def test_command_is_stopped_at_its_time_and_its_output_kept(call: Call) -> None:
    envelope = await call(free_tool(), command="echo begun; sleep 600", timeout_s=1)
    assert (envelope.status, envelope.data["timed_out"]) == ("partial", True)
    assert envelope.text.startswith("begun\n[stopped after ")
    assert envelope.text.endswith("its time was up]")


async def test_time_of_the_settings_cannot_be_exceeded(call: Call) -> None:
    envelope = await call(free_tool(timeout_s=0.5), command="sleep 600", timeout_s=600)
    assert envelope.data["timed_out"]


async def test_long_output_is_cut_in_the_middle_and_saved(call: Call, context: ToolContext) -> None:
    envelope = await call(free_tool(max_output_bytes=1000), command="seq 5000")
    assert envelope.status == "partial"
    assert envelope.text.startswith("1\n2\n3\n")
    assert envelope.text.endswith("\n4999\n5000")
    assert "bytes are left out here; the whole is in " in envelope.text
    saved = Path(envelope.data["saved_to"])
    assert saved.read_text().split() == [str(n) for n in range(1, 5001)]
    assert saved.parent == Path(context.files.spill_dir)


async def test_output_that_the_settings_allow_is_not_cut(call: Call) -> None:
    envelope = await call(free_tool(max_output_bytes=200_000), command="seq 20000")
    assert envelope.status == "success"
    assert envelope.text.endswith("\n20000")


async def test_flood_is_stopped(call: Call) -> None:
    envelope = await call(free_tool(), command="yes")
    assert envelope.status == "partial"
    assert "it wrote more than 16777216 bytes" in envelope.text


async def test_output_that_is_no_text_is_shown_as_far_as_it_goes(call: Call) -> None:
    envelope = await call(free_tool(), command=r"printf 'a\377b'")
    assert envelope.text == "a\ufffdb"


async def test_signal_is_named(call: Call) -> None:
    assert "[ended by signal 9 after" in (await call(free_tool(), command="sh -c 'kill -9 $PPID'; sleep 5")).text


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO_EDIT])
async def test_folder_made_to_look_like_a_repository_runs_nothing_outside(
    call: Call, project: Path, context: ToolContext, mode: Mode
) -> None:
    adjust(context, mode=mode)
    fake = project / "fake"
    for folder in ("objects", "refs"):
        (fake / folder).mkdir(parents=True)
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    monitor = f'fsmonitor = "touch {project}/owned {project.parent}/owned; false"'
    (fake / "config").write_text(f'[core]\nrepositoryformatversion = 0\nworktree = "{project}"\n{monitor}\n')
    envelope = await call(make_tool(), command="git status", cwd="fake")
    assert not (project.parent / "owned").exists()
    if mode is Mode.ASK:
        assert envelope.error["code"] == "PERMISSION_DENIED"  # it asks, and nobody answers
        assert not (project / "owned").exists()


async def test_monitor_of_a_strange_repository_is_not_run(call: Call, project: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, timeout=60)
    monitor = ["git", "config", "core.fsmonitor", f"touch {project}/owned; false"]
    subprocess.run(monitor, cwd=project, check=True, timeout=60)
    await call(make_tool(), command="git status")
    assert not (project / "owned").exists()


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO_EDIT])
@pytest.mark.parametrize(
    "command",
    ["cat .e*", "cat .en?", "cat .[e]nv", "cat out*", "cat */key", "grep -r . .", "grep -rn KEY", "grep -r x ./*",
     "head -n 5 ./.e*", "sort '.'e*"],
)  # fmt: skip
async def test_neither_globs_nor_folders_reach_what_may_not_be_read(
    call: Call, project: Path, questions: Questions, context: ToolContext, command: str, mode: Mode
) -> None:
    adjust(context, mode=mode)
    (project / ".env").write_text("KEY=hidden\n")
    (project.parent / "elsewhere").mkdir()
    (project.parent / "elsewhere" / "key").write_text("KEY=hidden\n")
    (project / "outside").symlink_to(project.parent / "elsewhere" / "key")
    (project / "folder").symlink_to(project.parent / "elsewhere")
    (project / "deep").mkdir()
    (project / "deep" / ".env").write_text("KEY=hidden\n")
    envelope = await call(make_tool(), command=command)
    assert "hidden" not in envelope.text
    if mode is Mode.ASK:
        assert envelope.error["code"] == "PERMISSION_DENIED"
    assert len(questions) == (mode is Mode.ASK)


@pytest.mark.usefixtures("asking")
@pytest.mark.parametrize("command", ["cat *.txt", "cat s*/[ab].txt", "grep -r a src", "ls *", "cat n*"])
async def test_globs_and_folders_without_secrets_run_at_once(
    call: Call, project: Path, questions: Questions, command: str
) -> None:
    (project / "src").mkdir()
    for name in ("a.txt", "note", "src/a.txt", "src/b.txt"):
        (project / name).write_text("a\n")
    (project / ".env").write_text("KEY=hidden\n")
    envelope = await call(make_tool(), command=command)
    assert (envelope.status, questions) == ("success", [])
    assert "hidden" not in envelope.text


@pytest.mark.usefixtures("asking")
async def test_a_folder_with_too_much_in_it_is_asked_for(call: Call, project: Path, questions: Questions) -> None:
    for number in range(2_001):
        (project / f"f{number}").touch()
    await call(make_tool(), command="cat f*")
    assert len(questions) == 1


async def test_a_file_of_the_project_is_no_listed_command(call: Call, project: Path, context: ToolContext) -> None:
    for folder in (project, project / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "which").write_text("#!/bin/sh\necho owned\n")
        (folder / "which").chmod(0o755)
    adjust(context, environ={"PATH": f"bin:.::{os.defpath.strip(':')}"})
    assert "owned" not in (await call(make_tool(), command="which ls")).text


async def test_output_of_a_command_that_is_cancelled_is_kept_without_secrets(
    project: Path, context: ToolContext
) -> None:
    adjust(context, mask=lambda text: text.replace("s3cret", "<secret>"))
    (project / "big").write_text("s3cret\n" * 10_000)
    arguments = {"command": "cat big; sleep 600"}
    envelope = await run_tool(free_tool(max_output_bytes=1000), arguments, context, timeout_s=2)
    assert envelope.error["code"] == "TIMEOUT"
    (saved,) = Path(context.files.spill_dir).glob("*")
    assert "s3cret" not in saved.read_text()
