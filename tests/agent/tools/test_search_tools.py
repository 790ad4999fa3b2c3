"""`list_directory`, `glob` and `grep`: bounded walks that follow no link and show no secret."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from clawft.agent.tools.file_search import (
    WalkBudget,
    compile_glob,
    glob_tool,
    grep_tool,
    list_directory_tool,
    run_walk,
    walk_tree,
)
from clawft.agent.tools.tool import ToolContext, ToolError
from tool_contexts import adjust

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]
LIST, GLOB, GREP = list_directory_tool(), glob_tool(), grep_tool()


def fill(project: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)


async def test_folder_is_listed_with_kinds_and_sizes(call: Call, project: Path) -> None:
    fill(project, {"b.txt": "12345", "sub/inner.txt": "", ".git/config": "", "a.txt": ""})
    (project / "link").symlink_to("sub")
    os.mkfifo(project / "fifo")
    envelope = await call(LIST)
    assert envelope.text == ".:\n.git/\na.txt  0\nb.txt  5\nfifo  (special)\nlink -> sub\nsub/"
    assert (envelope.status, envelope.data) == ("success", {"entries": 6})


async def test_depth_looks_into_folders_but_not_into_those_of_programs(call: Call, project: Path) -> None:
    fill(project, {"a/b/c.txt": "", ".git/config": "", "node_modules/x/y.js": ""})
    assert (await call(LIST, depth=2)).text == ".:\n.git/\na/\na/b/\nnode_modules/"
    assert (await call(LIST, path="node_modules", depth=3)).text == "node_modules:\nx/\nx/y.js  0"


async def test_empty_missing_and_wrong_folders_are_told_apart(call: Call, project: Path) -> None:
    fill(project, {"a.txt": ""})
    (project / "empty").mkdir()
    assert (await call(LIST, path="empty")).text == "empty:\n(empty)"
    assert (await call(LIST, path="none")).error["code"] == "NOT_FOUND"
    assert (await call(LIST, path="a.txt")).error["code"] == "INVALID_PARAM"
    assert (await call(LIST, path="..")).error["code"] == "PERMISSION_DENIED"


async def test_large_folder_is_cut(call: Call, project: Path) -> None:
    for number in range(1100):
        (project / f"{number:04}").touch()
    envelope = await call(LIST)
    assert envelope.status == "partial"
    assert "[cut: 1000 entries are shown; there are more than 1000 files and folders" in envelope.text


async def test_links_are_not_walked_into(call: Call, project: Path, tmp_path: Path) -> None:
    fill(tmp_path, {"outside/secret.txt": "needle"})
    (project / "out").symlink_to(tmp_path / "outside")
    (project / "loop").symlink_to(".")
    assert "secret" not in (await call(LIST, depth=5)).text
    assert (await call(GLOB, pattern="**/*.txt")).text == "No file matches"
    assert (await call(GREP, pattern="needle")).text == "No line matches"


async def test_secrets_are_not_shown(call: Call, project: Path, context: ToolContext) -> None:
    fill(project, {".env": "needle", ".ssh/id_rsa": "needle", "a.txt": "needle", "sub/.env.local": "needle"})
    assert (await call(GREP, pattern="needle")).text == "a.txt:1:needle"
    assert (await call(GLOB, pattern="**")).text == "a.txt"
    assert "ssh" not in (await call(LIST, depth=3)).text


async def test_own_records_are_not_searched_when_home_is_the_project(call: Call, context: ToolContext) -> None:
    home = Path(context.workspace.home)
    fill(home, {".clawft/config.toml": "needle", "a.txt": "needle"})
    adjust(context, workspace=structs.replace(context.workspace, project=str(home), cwd=str(home)))
    assert (await call(GREP, pattern="needle")).text == "a.txt:1:needle"


async def test_spill_folder_can_be_searched(call: Call, context: ToolContext) -> None:
    fill(Path(context.files.spill_dir), {"out.txt": "a needle"})
    path = f"{context.files.spill_dir}/out.txt"
    assert (await call(GREP, pattern="needle", path=context.files.spill_dir)).text == f"{path}:1:a needle"
    assert (await call(GREP, pattern="needle", path=path)).text == f"{path}:1:a needle"


async def test_glob_gives_the_newest_first(call: Call, project: Path) -> None:
    fill(project, {"old.py": "", "new.py": "", "sub/mid.py": "", "other.txt": ""})
    for age, path in enumerate(("new.py", "sub/mid.py", "old.py")):
        os.utime(project / path, (1000 - age, 1000 - age))
    assert (await call(GLOB, pattern="*.py")).text == "new.py\nsub/mid.py\nold.py"
    assert (await call(GLOB, pattern="*.py", path="sub")).text == "sub/mid.py"


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".a.py"], ["a.pyc", "a/py"]),
        ("./src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "xsrc/a.py"]),
        ("src/**", ["src/a", "src/b/c"], ["src"]),
        ("*.{md,txt}", ["a.md", "b/c.txt"], ["a.rst"]),
        ("{a,b/{c,d}}/x", ["a/x", "b/c/x", "b/d/x"], ["c/x"]),
        ("?[0-9].[!a]", ["x1.b"], ["x1.a", "xy.b", "11./"]),
        ("[^a]b", ["cb"], ["ab"]),
        ("a+b(c).txt", ["a+b(c).txt"], ["aab(c).txt"]),
        ("{open", ["{open"], ["open"]),
        ("}x{", ["}x{"], ["x"]),
        ("[x", ["[x"], ["x"]),
        ("grün*", ["grünes"], ["grau"]),
    ],
)
def test_patterns_mean_what_people_expect(pattern: str, hits: list[str], misses: list[str]) -> None:
    matcher = compile_glob(pattern)
    assert [path for path in hits if not matcher.fullmatch(path.encode())] == []
    assert [path for path in misses if matcher.fullmatch(path.encode())] == []


@pytest.mark.parametrize("pattern", ["/etc/*", "~/x", "../*", "a/../../*", "x" * 501, "[z-a]"])
async def test_pattern_that_leaves_the_folder_or_means_nothing_is_wrong(call: Call, pattern: str) -> None:
    assert (await call(GLOB, pattern=pattern)).error["code"] == "INVALID_PARAM"


@given(st.text(max_size=30))
def test_any_pattern_is_understood_or_refused(pattern: str) -> None:
    with suppress(ToolError):
        compile_glob(pattern).fullmatch(b"a/b")


async def test_too_many_files_are_cut(call: Call, project: Path) -> None:
    for number in range(250):
        (project / str(number)).touch()
    envelope = await call(GLOB, pattern="*")
    assert envelope.status == "partial"
    assert envelope.text.endswith("[cut: 200 of 250 files are shown; narrow the pattern or the path]")


async def test_matching_lines_are_shown_with_their_place(call: Call, project: Path) -> None:
    fill(project, {"a.py": "import os\nprint(1)\n", "b/c.txt": "an import\r\n", "d.txt": "none"})
    envelope = await call(GREP, pattern=r"\bimport\b")
    assert envelope.text == "a.py:1:import os\nb/c.txt:1:an import"
    assert envelope.data == {"matches": 2, "files": 2}
    assert (await call(GREP, pattern="^IMPORT", ignore_case=True, glob="*.py")).text == "a.py:1:import os"


async def test_lines_around_a_match_are_shown_on_demand(call: Call, project: Path) -> None:
    fill(project, {"a": "1\n2\nx\n4\n5\n6\nx\n8"})
    text = (await call(GREP, pattern="x", context=1)).text
    assert text == "a-2-2\na:3:x\na-4-4\n--\na-6-6\na:7:x\na-8-8"


async def test_results_are_bounded(call: Call, project: Path) -> None:
    fill(project, {"a": "x\n" * 500})
    envelope = await call(GREP, pattern="x", max_results=3)
    assert envelope.status == "partial"
    assert envelope.text.startswith("a:1:x\na:2:x\na:3:x\n[cut: there may be more matches")
    fill(project, {"b": ("y" * 1000 + "\n") * 900})
    wide = await call(GREP, pattern="y", max_results=1000)
    assert wide.status == "partial"
    assert f"b:1:{'y' * 300}…" in wide.text


async def test_binary_and_huge_files_are_left_out(call: Call, project: Path) -> None:
    (project / "a.bin").write_bytes(b"needle\0needle")
    with open(project / "huge", "wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(project / "fifo")
    envelope = await call(GREP, pattern="needle")
    assert envelope.text.startswith("No line matches\n[cut: 1 files over 8388608 bytes were left out")


async def test_expression_that_re2_lacks_is_explained(call: Call) -> None:
    for pattern in ("(?=x)", "(", "\ud800"):
        envelope = await call(GREP, pattern=pattern)
        assert envelope.error["code"] == "INVALID_PARAM"
        assert "RE2 has neither look-around nor back-references" in envelope.text


async def test_expression_made_to_explode_does_not(call: Call, project: Path) -> None:
    fill(project, {"a": "a" * 100_000 + "\n"})
    envelope = await call(GREP, pattern="(a*)*(a|aa)*b")
    assert (envelope.text, envelope.stats["time_ms"] < 5000) == ("No line matches", True)


async def test_names_that_are_no_text_do_not_stop_a_search(call: Call, project: Path) -> None:
    with open(os.path.join(os.fsencode(project), b"\xff\xfe.txt"), "wb") as file:
        file.write(b"needle")
    assert (await call(GREP, pattern="needle")).data == {"matches": 1, "files": 1}
    assert (await call(GLOB, pattern="*.txt")).data == {"matches": 1}
    assert (await call(LIST)).status == "success"


async def test_deep_folders_end_the_walk_not_the_program(call: Call, project: Path) -> None:
    at = os.open(project, os.O_RDONLY)
    for _ in range(200):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    assert (await call(GLOB, pattern="*")).text == "No file matches"


async def test_cancelled_search_stops_its_thread(project: Path) -> None:
    started, stopped = anyio.Event(), anyio.Event()

    def work(budget: WalkBudget) -> None:
        anyio.from_thread.run_sync(started.set)
        while budget.take():
            pass
        anyio.from_thread.run_sync(stopped.set)

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            group.start_soon(run_walk, work, WalkBudget(max_entries=1 << 60, max_seconds=120))
            await started.wait()
            group.cancel_scope.cancel()
        await stopped.wait()


def test_walk_ends_when_its_time_is_up(project: Path) -> None:
    fill(project, {"a": "", "b": ""})
    budget = WalkBudget(max_seconds=-1)
    assert list(walk_tree(str(project), budget, may_read=lambda _: True)) == []
    assert budget.spent == "it took more than -1 seconds"


async def test_a_private_key_is_neither_found_nor_listed(call: Call, project: Path) -> None:
    fill(project, {"a/b/server.key": "-----BEGIN PRIVATE KEY-----\nhunter2\n", "a/b/other.key": "hunter2\n"})
    assert "server.key" not in (await call(GREP, pattern="hunter2")).text
    assert (await call(GLOB, pattern="**/*.key")).text.split() == ["a/b/other.key"]
    assert "server.key" not in (await call(LIST, depth=3)).text
