"""A folder held against its lock: what is as it was installed, told quickly, and what differs, by file."""

import hashlib
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clawft.install.lockfile.compare import MAX_DEPTH, SAME, FolderDifference, compare_folder, is_untouched
from clawft.install.lockfile.model import LockedFile
from clawft.skills.discovery.digest import compute_digest

MEGABYTE = 1 << 20


class Installed:
    """A folder as it was installed, with what a lock says of it."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.folder = folder
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o755 if name.endswith(".sh") else 0o644)
        self.files = {
            name: LockedFile(hashlib.sha256(content).hexdigest(), len(content), name.endswith(".sh"))
            for name, content in files.items()
        }
        self.lines = [
            f"{file.sha256} {file.size} {'x' if file.executable else '-'} {name}" for name, file in self.files.items()
        ]
        self.digest = compute_digest(str(folder)).value

    def is_untouched(self) -> bool:
        return is_untouched(str(self.folder), self.lines, self.digest)

    def compare(self) -> FolderDifference:
        return compare_folder(str(self.folder), self.files)


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    files = {"SKILL.md": b"Do it.\n", "empty": b"", "scripts/run.sh": b"echo\n", "scripts/deep/note.txt": b"x"}
    return Installed(tmp_path / "tool", files)


@contextmanager
def no_more_files() -> Iterator[None]:
    """As when a process has as many files open as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_as_it_was_installed_is_untouched_and_the_same(installed: Installed) -> None:
    assert installed.is_untouched()
    assert installed.compare() is SAME
    assert not installed.compare().any


def test_what_no_digest_covers_makes_no_difference(installed: Installed) -> None:
    (installed.folder / "scripts/__pycache__").mkdir()
    (installed.folder / "scripts/__pycache__/run.pyc").write_bytes(b"x")
    (installed.folder / ".DS_Store").write_bytes(b"x")
    assert installed.is_untouched()
    assert installed.compare() is SAME


def test_files_that_are_listed_after_a_folder_no_digest_covers_are_looked_at_too(tmp_path: Path) -> None:
    """File systems list what a folder holds in an order of their own: some files come after, whichever it is."""
    folder = tmp_path / "tool"
    for number in range(10):
        (folder / f"part{number}").mkdir(parents=True)
        (folder / f"part{number}/a").write_bytes(b"x")
        (folder / f"part{number}/__pycache__").mkdir()
    installed = Installed(folder, {f"part{number}/{name}": b"x" for number in range(10) for name in "abcdef"})
    assert installed.is_untouched()


@pytest.mark.parametrize(
    ("line", "difference"),
    [
        ("printf 'No it.\n' > SKILL.md", FolderDifference(changed=("SKILL.md",))),
        ("printf more >> SKILL.md", FolderDifference(changed=("SKILL.md",))),
        ("chmod -x scripts/run.sh", FolderDifference(changed=("scripts/run.sh",))),
        ("chmod o+x SKILL.md", FolderDifference(changed=("SKILL.md",))),
        ("rm empty; mkfifo empty", FolderDifference(changed=("empty",))),
        ("rm empty; ln -s /dev/null empty", FolderDifference(changed=("empty",))),
        ("cp SKILL.md kept; ln -sf kept SKILL.md", FolderDifference(changed=("SKILL.md",), extra=("kept",))),
        ("rm scripts/deep/note.txt", FolderDifference(missing=("scripts/deep/note.txt",))),
        ("rm SKILL.md; mkdir SKILL.md", FolderDifference(missing=("SKILL.md",))),
        ("touch scripts/deep/a b", FolderDifference(extra=("b", "scripts/deep/a"))),
        ("mkfifo pipe", FolderDifference(extra=("pipe",))),
        ("ln -s /etc __pycache__", FolderDifference(extra=("__pycache__",))),
        (
            "rm -r scripts/deep; ln -s /etc scripts/deep",
            FolderDifference((), ("scripts/deep/note.txt",), ("scripts/deep",)),
        ),
        (
            "mv scripts/deep scripts/other",
            FolderDifference((), ("scripts/deep/note.txt",), ("scripts/other/note.txt",)),
        ),
        (
            "rm empty; printf y > scripts/deep/note.txt; touch new",
            FolderDifference(("scripts/deep/note.txt",), ("empty",), ("new",)),
        ),
    ],
)
def test_every_difference_is_named_and_none_passes_for_untouched(
    installed: Installed, line: str, difference: FolderDifference
) -> None:
    assert os.system(f"cd '{installed.folder}'; {line}") == 0
    assert not installed.is_untouched()
    assert installed.compare() == difference
    assert installed.compare().any


DEEP = "d/" * MAX_DEPTH


@pytest.mark.parametrize(
    "line", ["touch $other/new", "mkfifo $other/new", f"mkdir -p $other/{DEEP}; touch $other/{DEEP}new"]
)
@pytest.mark.parametrize(("kept", "other"), [("a", "b"), ("b", "a")])
def test_nothing_new_passes_for_untouched_though_all_else_was_seen_before_it(
    tmp_path: Path, line: str, kept: str, other: str
) -> None:
    """In whichever order the folders are read."""
    installed = Installed(tmp_path / "tool", {f"{kept}/SKILL.md": b"x"})
    assert installed.is_untouched()
    (installed.folder / other).mkdir()
    assert os.system(f"cd '{installed.folder}'; other={other}; {line}") == 0
    assert not installed.is_untouched()
    assert installed.compare().any


def test_files_that_fit_are_not_untouched_where_the_lock_itself_was_changed(installed: Installed) -> None:
    folder, lines, digest = str(installed.folder), installed.lines, installed.digest
    assert not is_untouched(folder, lines, "sha256:" + "0" * 64)
    assert not is_untouched(folder, [*lines, lines[0]], digest)
    assert not is_untouched(folder, [*lines, f"{'0' * 64} 1 - gone"], digest)
    assert not is_untouched(folder, lines[1:], digest)


@pytest.mark.parametrize(("size", "quickly"), [(MEGABYTE - 1, True), (MEGABYTE, True), (MEGABYTE + 1, False)])
def test_a_large_file_is_read_in_pieces_and_not_in_the_quick_look(tmp_path: Path, size: int, quickly: bool) -> None:
    content = os.urandom(size)
    installed = Installed(tmp_path / "tool", {"SKILL.md": b"x", "large": content})
    assert installed.is_untouched() is quickly
    assert installed.compare() is SAME
    with open(tmp_path / "tool/large", "r+b") as file:
        file.seek(size - 1)
        file.write(bytes([content[-1] ^ 1]))
    assert not installed.is_untouched()
    assert installed.compare() == FolderDifference(changed=("large",))


def test_a_folder_that_is_gone_misses_every_file(installed: Installed) -> None:
    installed.folder.rename(installed.folder.with_name("moved"))
    assert not installed.is_untouched()
    assert installed.compare() == FolderDifference(missing=tuple(sorted(installed.files)), is_absent=True)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_a_file_is_not_the_folder_that_was_installed(installed: Installed, kind: str) -> None:
    moved = installed.folder.rename(installed.folder.with_name("moved"))
    if kind == "link":
        installed.folder.symlink_to(moved)
    else:
        installed.folder.write_text("x")
    assert not installed.is_untouched()
    assert installed.compare() == FolderDifference(missing=tuple(sorted(installed.files)), why="it is a link or a file")


def test_a_folder_whose_parent_became_a_file_is_gone(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("x")
    folder = str(tmp_path / "skills/tool")
    assert not is_untouched(folder, ["x"], "")
    assert compare_folder(folder, {"a": LockedFile("", 0)}) == FolderDifference(missing=("a",), is_absent=True)


def test_a_folder_that_cannot_be_looked_at_is_not_the_same_and_says_why(installed: Installed) -> None:
    with no_more_files():
        untouched, difference = installed.is_untouched(), installed.compare()
    assert not untouched
    assert difference == FolderDifference(missing=tuple(sorted(installed.files)), why="Too many open files")


@pytest.mark.parametrize(("depth", "fits"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_folders_in_folders_are_looked_at_to_a_bound(tmp_path: Path, depth: int, fits: bool) -> None:
    installed = Installed(tmp_path / "tool", {"SKILL.md": b"x", "d/" * depth + "deepest": b"x"})
    assert installed.is_untouched() is fits
    difference = installed.compare()
    assert difference.any is not fits
    assert difference.why == ("" if fits else "it has too many files, or too deep folders")
    assert difference.missing == (() if fits else ("d/" * depth + "deepest",))


def test_no_look_leaves_a_file_open(installed: Installed) -> None:
    large = Installed(installed.folder.with_name("large"), {"large": bytes(MEGABYTE + 1)})
    before = len(os.listdir("/proc/self/fd"))
    for name in ("SKILL.md", "scripts/deep/note.txt"):
        assert installed.is_untouched() or name != "SKILL.md"
        assert installed.compare().any is (name != "SKILL.md")
        (installed.folder / name).write_bytes(b"changed")
        assert not installed.is_untouched()
        assert name in installed.compare().changed
    assert not large.is_untouched()
    assert large.compare() is SAME
    assert len(os.listdir("/proc/self/fd")) == before
