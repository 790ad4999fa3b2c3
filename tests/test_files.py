"""Reading a file that may be hostile: links, folders, FIFOs, devices and sizes; replacing and locking one."""

import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from clawft.config.sqlite import DatabaseFile
from clawft.errors import ClawftError, Unreadable
from clawft.files import (
    create_file,
    get_hint,
    is_there,
    is_within,
    lock_file,
    read_optional,
    read_regular,
    replace_file,
    why_damaged,
)
from warm import run_warm


def test_regular_file_is_read_with_its_status(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_bytes(b"hello\r\n\xff")
    data, status = read_regular(str(file), 100)
    assert data == b"hello\r\n\xff"
    assert status.st_size == len(data)


def test_empty_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.touch()
    assert read_regular(str(file), 0)[0] == b""


def test_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_bytes(b"x" * 10)
    assert read_regular(str(file), 10)[0] == b"x" * 10


def test_file_over_the_limit_is_refused_with_both_sizes(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_bytes(b"x" * 11)
    with pytest.raises(Unreadable, match="11 bytes; 10 is the limit") as caught:
        read_regular(str(file), 10)
    assert (caught.value.code, caught.value.diagnostic.path) == ("file-too-large", str(file))


def test_sparse_file_of_a_terabyte_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    with file.open("wb") as handle:
        handle.truncate(1 << 40)
    with pytest.raises(Unreadable) as caught:
        read_regular(str(file), 1 << 20)
    assert caught.value.code == "file-too-large"


def test_link_is_refused_unless_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "SKILL.md"
    target.write_bytes(b"text")
    link.symlink_to(target)
    with pytest.raises(Unreadable) as caught:
        read_regular(str(link), 100)
    assert caught.value.code == "is-a-link"
    assert read_regular(str(link), 100, follow=True)[0] == b"text"


def test_link_to_itself_is_refused_even_when_followed(tmp_path: Path) -> None:
    link = tmp_path / "SKILL.md"
    link.symlink_to(link)
    with pytest.raises(Unreadable) as caught:
        read_regular(str(link), 100, follow=True)
    assert caught.value.code == "is-a-link"


def test_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    fifo = tmp_path / "SKILL.md"
    os.mkfifo(fifo)
    with pytest.raises(Unreadable) as caught:
        read_regular(str(fifo), 100)
    assert caught.value.code == "not-a-file"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_device_is_refused(device: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_regular(device, 100)
    assert caught.value.code == "not-a-file"


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        read_regular(str(tmp_path), 1 << 20)
    assert caught.value.code == "not-a-file"


def test_name_the_system_refuses_is_unreadable_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="too long") as caught:
        read_regular(str(tmp_path / ("x" * 5000)), 100)
    assert caught.value.code == "unreadable"


def test_missing_file_stays_a_builtin_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_regular(str(tmp_path / "SKILL.md"), 100)


def test_file_used_as_a_folder_stays_a_builtin_error(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        read_regular(str(tmp_path / "a" / "SKILL.md"), 100)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_bytes(b"x" * 11)
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        read_regular(str(file), 100)
        with pytest.raises(Unreadable):
            read_regular(str(file), 10)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_replaced_file_has_its_content_its_rights_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    replace_file(str(path), b"one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    replace_file(str(path), b"two", 0o644)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o644)
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_file_that_cannot_be_replaced_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a" / "inner").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        replace_file(str(tmp_path / "a"), b"content")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


# The system is asked to make it lasting when the temporary file is whole and not yet renamed.
_KILLED_HALFWAY = """
import os, signal, sys
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
from clawft.cli import main
sys.argv = ["weft", *sys.argv[1:]]
main()
"""


def test_what_a_killed_command_left_is_removed_by_the_next_write(tmp_path: Path, child_env: dict[str, str]) -> None:
    words = ["config", "set", "memory.enabled", "false"]
    folder = tmp_path / "home" / ".clawft"
    for _ in range(3):
        killed = subprocess.run(
            [sys.executable, "-c", _KILLED_HALFWAY, *words], cwd=tmp_path, env=child_env, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert [path.suffix for path in folder.iterdir()] == [".tmp"]  # the one before is gone

    assert run_warm(["weft", *words], cwd=tmp_path, env=child_env).returncode == 0
    assert (folder / "config.toml").exists()
    assert not list(folder.glob("*.tmp"))


def test_the_temporary_file_of_a_writer_that_lives_stays(tmp_path: Path) -> None:
    other, foreign = tmp_path / ".a.json.0123456789ab.tmp", tmp_path / ".ab.json.0123456789ab.tmp"
    foreign.touch()
    with other.open("w") as held:
        assert lock_file(held.fileno())
        replace_file(str(tmp_path / "a.json"), b"one")
        assert other.exists()

    replace_file(str(tmp_path / "a.json"), b"two")
    assert sorted(path.name for path in tmp_path.iterdir()) == [foreign.name, "a.json"]


def test_of_many_who_replace_a_file_at_once_all_succeed_and_one_content_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    contents = [bytes([number]) * 50_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: replace_file(str(path), content), contents * 20))  # raises what a write raised
    assert path.read_bytes() in contents
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_created_file_is_whole_and_the_first_one_stays(tmp_path: Path) -> None:
    create_file(str(tmp_path / "key"), b"one")
    create_file(str(tmp_path / "key"), b"two")

    assert ((tmp_path / "key").read_bytes(), os.listdir(tmp_path)) == (b"one", ["key"])


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from clawft.files import replace_file
try:
    replace_file(sys.argv[1], b"x" * 2000)
except OSError as error:
    print(error.strerror, error.filename)
"""


def test_an_error_while_a_file_is_written_names_it(tmp_path: Path, child_env: dict[str, str]) -> None:
    path = str(tmp_path / "a.json")
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, path], env=child_env, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"File too large {path}\n"
    assert not list(tmp_path.glob("*a.json*"))


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "Make room on the disk: df -h {}"),
        (errno.EACCES, "Check its permissions: ls -ld {}"),
        (errno.EIO, "The disk or its connection fails: look at the system's log (dmesg), and keep a copy of {}"),
        (errno.ENOLCK, "Its file system has no locks: keep the folder on a local disk, with CLAWFT_HOME"),
        (errno.EXDEV, "See what the system says of it: ls -ld {}"),
    ],
)
def test_a_hint_is_about_what_the_system_refused(tmp_path: Path, number: int, hint: str) -> None:
    error, path = OSError(number, os.strerror(number)), tmp_path / "a b"
    path.touch()
    assert get_hint(error, str(path)) == hint.format(f"'{path}'")
    assert not get_hint(error, "").endswith(("''", " "))


@pytest.mark.parametrize("number", [errno.ENOTDIR, errno.EACCES])
def test_a_hint_is_about_what_is_in_the_way(tmp_path: Path, number: int) -> None:
    (tmp_path / "file").touch()
    hint = get_hint(OSError(number, os.strerror(number)), str(tmp_path / "file" / "folder" / "a.json"))
    assert hint.endswith(f"ls -ld {tmp_path}/file")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (bytes(9), "it holds nothing but zeros"),
        (b"a\0b", "it is binary"),
        (b"\xff", "it is not UTF-8"),
        (b"{", "what the parser says"),
    ],
)
def test_what_is_damaged_is_told_apart_from_what_is_wrong(data: bytes, why: str) -> None:
    assert why_damaged(data, ValueError("what the parser says")) == why


def test_what_cannot_be_looked_at_counts_as_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "nowhere").symlink_to("gone")
    there = ("file", "file/below", "circle", "circle/below", "nowhere")
    assert [is_there(str(tmp_path / one)) for one in there] == [True] * 5
    absent = ("gone", "gone/below", "file/no/home")
    assert [is_there(str(tmp_path / one)) for one in absent] == [False] * 3


def test_a_database_is_never_of_0_bytes_and_one_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    file = DatabaseFile(str(path), "The list", "list-file", "what is listed")
    file.make()
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE one(a)")
    before = path.read_bytes()
    file.make()
    assert path.read_bytes() == before
    path.write_bytes(b"")
    with pytest.raises(ClawftError, match="The list is damaged: it is empty") as caught:
        file.make()
    assert (caught.value.code, path.read_bytes()) == ("list-file", b"")
    assert os.listdir(tmp_path) == ["a.sqlite"]


def test_lock_has_one_holder_and_waits_as_long_as_told(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open("w") as other:
        assert lock_file(one.fileno())
        assert not lock_file(other.fileno())
        started = time.monotonic()
        assert not lock_file(other.fileno(), 0.05)
        assert time.monotonic() - started >= 0.05
        one.close()
        assert lock_file(other.fileno(), 60)


def test_optional_file_is_its_bytes_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"x")
    (tmp_path / "link").symlink_to("there")

    assert read_optional(str(tmp_path / "there"), 10) == b"x"
    assert read_optional(str(tmp_path / "missing"), 10) is None
    assert read_optional(str(tmp_path / "there" / "below"), 10) is None
    assert read_optional(str(tmp_path / "link"), 10, follow=True) == b"x"
    with pytest.raises(Unreadable):
        read_optional(str(tmp_path / "link"), 10)


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/a/b", "/a/", True),
        ("/a", "/", True),
        ("/ab", "/a", False),
        ("/", "/a", False),
        ("", "", False),  # where links lead nowhere, nothing is inside of anything
        ("/a", "", False),
        ("", "/", False),
    ],
)
def test_a_path_is_within_a_folder_by_whole_names(path: str, root: str, expected: bool) -> None:
    assert is_within(path, root) is expected
