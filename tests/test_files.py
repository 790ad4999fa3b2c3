"""Reading a file that may be hostile: links, folders, FIFOs, devices and sizes; replacing and locking one."""

import os
import stat
import time
from pathlib import Path

import pytest

from clawft.errors import Unreadable
from clawft.files import is_within, lock_file, read_optional, read_regular, replace_file


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
