"""What a guard of a folder says, how far it looks, and that it never trusts what it remembers too long."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from clawft.errors import Refused
from clawft.sandbox.guard import FolderGuard, FolderGuards
from clawft.trust.protected_paths import AGENT_FOLDERS

MAX_FOLDERS, MAX_ENTRIES, MAX_CHILDREN, MAX_CLOSED = 50_000, 200_000, 2_000, 2_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def guards(tmp_path: Path) -> FolderGuards:
    (tmp_path / "home/.clawft").mkdir(parents=True)
    return FolderGuards(str(tmp_path / "home"), str(tmp_path / "home/.clawft"))


@pytest.fixture
def roomy(tmp_path: Path) -> Iterator[Path]:
    """A folder where very many files are soon made: in memory, where there is such a place."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK | os.X_OK) else tmp_path)
    yield Path(folder).resolve()
    shutil.rmtree(folder)


def fill(root: Path, *names: str) -> None:
    """Make files, and folders of what ends with a slash."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).mkdir() if name.endswith("/") else (root / name).write_text("x")


def below(root: Path, paths: tuple[str, ...] | None) -> list[str]:
    assert paths is not None
    return sorted(str(Path(path).relative_to(root)) for path in paths)


def make_folders(folder: Path, count: int, start: int = 0) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        for number in range(start, start + count):
            os.mkdir(str(number), dir_fd=descriptor)
    finally:
        os.close(descriptor)


def test_an_empty_folder_only_lacks_what_nobody_may_make(root: Path, guards: FolderGuards) -> None:
    assert guards.find(str(root)) == FolderGuard(missing=tuple(str(root / name) for name in AGENT_FOLDERS))


def test_power_is_read_only_secrets_are_hidden_and_what_holds_them_is_pinned(root: Path, guards: FolderGuards) -> None:
    fill(root, ".git/", "AGENTS.md", "a/b/.git/", "a/b/AGENTS.md", "a/.env", ".env", "src/x.py", "one/two/three/.npmrc")
    guard = guards.find(str(root))
    assert below(root, guard.read_only) == [".git", "AGENTS.md", "a/b/.git"]
    assert below(root, guard.hidden) == [".env", "a/.env", "one/two/three/.npmrc"]
    assert below(root, guard.missing) == [".agents", ".claude", ".clawft"]
    assert guard.children is None
    assert below(root, guard.pinned) == ["a", "a/b", "one", "one/two", "one/two/three"]
    assert list(guard.pinned) == sorted(guard.pinned, key=len)


def test_every_level_is_looked_at_and_what_programs_fill_is_passed_over(root: Path, guards: FolderGuards) -> None:
    deep = "/".join(map(str, range(60)))
    fill(root, "1/2/3/.env", f"{deep}/.env", "node_modules/a/.env", ".venv/.env")
    assert below(root, guards.find(str(root)).hidden) == [f"{deep}/.env", "1/2/3/.env"]


def test_more_closed_places_than_can_be_mounted_are_refused(root: Path, guards: FolderGuards) -> None:
    fill(root, *(f"a/{number}.env/.env" for number in range(MAX_CLOSED // 2)))
    with pytest.raises(Refused, match=f"more than {MAX_CLOSED} places that must stay closed"):
        guards.find(str(root))


def test_a_nested_power_file_is_no_power(root: Path, guards: FolderGuards) -> None:
    fill(root, "docs/CLAUDE.md", "docs/.github/")
    assert guards.find(str(root)).read_only == ()


def test_a_link_counts_by_where_it_leads_and_only_inside(root: Path, guards: FolderGuards) -> None:
    fill(root, "kept/env", "real/")
    (root.parent / "outside").write_text("x")
    (root / ".env").symlink_to("kept/env")
    (root / ".env.local").symlink_to(root.parent / "outside")
    (root / ".netrc").symlink_to("nowhere")
    (root / "AGENTS.md").symlink_to(root)
    guard = guards.find(str(root))
    assert below(root, guard.hidden) == ["kept/env"]
    assert guard.read_only == ()
    assert guard.children is None
    assert below(root, guard.pinned) == ["kept"]


def test_beside_a_link_in_the_place_of_power_nothing_new_can_stand(root: Path, guards: FolderGuards) -> None:
    fill(root, "real/", "src/", "note", ".env", "AGENTS.md")
    (root / ".git").symlink_to("real")
    (root / "link").symlink_to("src")
    guard = guards.find(str(root))
    assert below(root, guard.children) == ["note", "real", "src"]
    assert guard.missing == ()
    assert below(root, guard.read_only) == ["AGENTS.md", "real"]


def test_a_nested_link_in_the_place_of_power_is_read_only_where_it_leads(root: Path, guards: FolderGuards) -> None:
    fill(root, "sub/real/config")
    (root / "sub/.git").symlink_to("real")
    guard = guards.find(str(root))
    assert below(root, guard.read_only) == ["sub/real"]
    assert guard.children is None


def test_where_nothing_can_be_taken_back_only_what_is_open_is_granted(root: Path, guards: FolderGuards) -> None:
    fill(root, ".git/", "src/", "note", ".env", "sticky/")
    (root / "sticky").chmod(0o1755)  # as what another run holds, but for its name
    guard = guards.find(str(root), by_children=True)
    assert below(root, guard.children) == ["note", "src", "sticky"]
    assert guard.missing == ()


def test_no_more_is_granted_one_by_one_than_a_sandbox_takes(root: Path, guards: FolderGuards) -> None:
    make_folders(root, MAX_CHILDREN + 1)
    assert len(guards.find(str(root), by_children=True).children or ()) == MAX_CHILDREN


def test_a_home_keeps_what_steers_programs_and_the_folders_they_are_searched_in(tmp_path: Path) -> None:
    home = (tmp_path / "home").resolve()
    fill(home, ".anything", "bin/", "work/", "tools/run", ".clawft/key", ".ssh/id", "deep/.env")
    guards = FolderGuards(str(home), str(home / ".clawft"))
    guard = guards.find(str(home), path=f"/usr/bin:{home}/tools:relative:{home}/none")
    assert below(home, guard.read_only) == [".anything", "bin", "tools"]
    assert below(home, guard.hidden) == [".clawft", ".ssh", "deep/.env"]
    assert below(home, guard.children) == ["deep", "tools", "work"]
    assert guard.missing == ()


def test_names_that_steer_a_home_and_its_path_mean_nothing_elsewhere(root: Path, guards: FolderGuards) -> None:
    fill(root, ".anything", "bin/", "tools/run")
    assert guards.find(str(root), path=f"{root}/tools").read_only == ()


def test_this_programs_own_folder_is_hidden_wherever_it_is(root: Path) -> None:
    fill(root, "state/own/key")
    guards = FolderGuards(str(root.parent), str(root / "state/own"))
    assert below(root, guards.find(str(root)).hidden) == ["state/own"]
    assert FolderGuards(str(root.parent), str(root / "none")).find(str(root)).hidden == ()


def test_this_program_itself_is_read_only_where_it_lies_in_a_project(guards: FolderGuards) -> None:
    package = Path(sys.modules["clawft"].__file__ or "").resolve().parent
    guard = guards.find(str(package.parent))
    assert str(package) in guard.read_only


def test_what_another_run_holds_is_to_be_held_like_what_is_not_there(root: Path, guards: FolderGuards) -> None:
    fill(root, ".git/", ".claude/")
    (root / ".git").chmod(0o1755)
    guard = guards.find(str(root))
    assert below(root, guard.missing) == [".agents", ".clawft", ".git"]
    assert below(root, guard.read_only) == [".claude"]
    fill(root, "sub/.git/")
    (root / "sub/.git").chmod(0o1755)
    assert below(root, guards.find(str(root)).read_only) == [".claude", "sub/.git"]


def test_a_folder_that_is_gone_holds_nothing(root: Path, guards: FolderGuards) -> None:
    root.rmdir()
    assert guards.find(str(root)).hidden == ()


def obey_rights() -> None:
    """Take from the program that is started what lets root read everything; others have no such thing."""
    drop_capability = 24
    for capability in (1, 2):  # to pass over the rights of files, and to read and search in spite of them
        ctypes.CDLL(None).prctl(drop_capability, capability, 0, 0, 0)


PRINT_HIDDEN = """
import sys
from clawft.sandbox.guard import FolderGuards
print(*sorted(FolderGuards('/none', '/none/own').find(sys.argv[1]).hidden), sep='\\n')
"""


def test_a_folder_that_cannot_be_read_is_hidden_whole(root: Path) -> None:
    fill(root, "open/.env", "closed/sub/.env")
    (root / "closed").chmod(0)
    words = [sys.executable, "-c", PRINT_HIDDEN, str(root)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, preexec_fn=obey_rights)
    (root / "closed").chmod(0o755)
    assert (done.stdout.split(), done.stderr) == ([f"{root}/closed", f"{root}/open/.env"], "")


def test_a_secret_stays_hidden_though_its_folder_is_closed_now(root: Path) -> None:
    """A program that is confined may give itself the rights back."""
    fill(root, "node_modules/conf/env")
    (root / ".env").symlink_to("node_modules/conf/env")
    (root / "node_modules").chmod(0)
    words = [sys.executable, "-c", PRINT_HIDDEN, str(root)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, preexec_fn=obey_rights)
    (root / "node_modules").chmod(0o755)
    assert (done.stdout.split(), done.stderr) == ([f"{root}/node_modules/conf/env"], "")


def test_a_folder_with_more_folders_than_can_be_looked_through_is_refused(roomy: Path, guards: FolderGuards) -> None:
    make_folders(roomy, 10_000)
    for number in range(4):
        make_folders(roomy / str(number), 9_999)
    make_folders(roomy / "0" / "1", 4)
    guards.find(str(roomy))
    make_folders(roomy / "1" / "1", 1)
    with pytest.raises(Refused, match=f"more than {MAX_FOLDERS} folders") as refused:
        guards.find(str(roomy))
    assert (refused.value.code, refused.value.diagnostic.path) == ("sandbox-too-large", str(roomy))


def test_a_folder_with_more_entries_than_can_be_looked_through_is_refused(roomy: Path, guards: FolderGuards) -> None:
    descriptor = os.open(roomy, os.O_RDONLY)
    try:
        for number in range(MAX_ENTRIES):
            os.mknod(str(number), dir_fd=descriptor)
    finally:
        os.close(descriptor)
    guards.find(str(roomy))
    (roomy / "one more").touch()
    with pytest.raises(Refused, match=f"more than {MAX_ENTRIES} entries in one folder") as refused:
        guards.find(str(roomy))
    assert (refused.value.code, refused.value.diagnostic.path) == ("sandbox-too-large", str(roomy))


def test_a_folder_that_changed_just_now_is_read_again(root: Path, guards: FolderGuards) -> None:
    """The clock of a file system may stand still for some milliseconds, in which what changes is not seen by it."""
    for number in range(1000):
        (root / str(number)).touch()
        guards.find(str(root))
        is_new = time.time_ns() - root.stat().st_ctime_ns < 1e8
        with Reads(root) as reads:
            guards.find(str(root))
        if is_new:
            break
    assert reads.folders == [str(root)]


def test_no_folder_is_looked_at_through_a_link(root: Path, guards: FolderGuards) -> None:
    fill(root.parent, "outside/sub/x")
    fill(root, "inside/x")
    (root / "link").symlink_to(root.parent / "outside")
    with Reads(root) as reads:
        guards.find(str(root))
    assert sorted(set(reads.folders)) == [str(root), f"{root}/inside"]


def test_what_appears_in_a_folder_that_was_remembered_is_seen(root: Path, guards: FolderGuards) -> None:
    fill(root, "sub/x")
    wait_until_settled(root / "sub")
    guards.find(str(root))
    fill(root, "sub/.env", ".npmrc")
    assert below(root, guards.find(str(root)).hidden) == [".npmrc", "sub/.env"]


def test_folders_that_did_not_change_are_not_read_again(root: Path, guards: FolderGuards) -> None:
    fill(root, "one/x", "two/x")
    wait_until_settled(root / "two")
    with Reads(root) as first:
        before = guards.find(str(root))
    with Reads(root) as second:
        assert guards.find(str(root)) == before
    assert (sorted(first.folders), second.folders) == ([str(root), f"{root}/one", f"{root}/two"], [])


def wait_until_settled(folder: Path) -> None:
    """Until the folder did not change for so long that it is remembered."""
    while time.time_ns() - folder.stat().st_ctime_ns < 2e8:
        time.sleep(0.02)


class Reads:
    """The folders below one that are read meanwhile."""

    _open: ClassVar[list["Reads"]] = []
    _hooked = False

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.folders: list[str] = []

    def __enter__(self) -> "Reads":
        if not Reads._hooked:
            sys.addaudithook(Reads._hear)  # for good, and silent outside of this
            Reads._hooked = True
        Reads._open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Reads._open.remove(self)

    @staticmethod
    def _hear(event: str, args: tuple[object, ...]) -> None:
        for reads in Reads._open if event == "os.scandir" else ():
            folder = os.readlink(f"/proc/self/fd/{args[0]}") if isinstance(args[0], int) else str(args[0])
            if folder.startswith(reads.root):
                reads.folders.append(folder)
