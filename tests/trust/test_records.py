"""Records: a sealed file that only weft may change, replaced at once, safe for many writers and for sudden ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from clawft.errors import ClawftError
from clawft.trust.approvals import Approvals
from clawft.trust.overrides import Overrides
from clawft.trust.records import Seal

APPROVES = """
import sys
from clawft.trust.approvals import Approvals
from clawft.trust.records import Seal
for number in range(int(sys.argv[3])):
    Approvals(sys.argv[1], Seal(sys.argv[1] + ".key")).add("config", {f"{sys.argv[2]}-{number}": b""})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "approvals.json"


def _open(path: Path) -> Approvals:
    return Approvals(str(path), Seal(f"{path}.key"))


def _code(approvals: Approvals | Overrides) -> str:
    with pytest.raises(ClawftError) as caught:
        approvals.load()
    return caught.value.code


def test_a_change_by_another_hand_makes_all_of_it_count_for_nothing(path: Path) -> None:
    _open(path).add("config", {"/a": b"one", "/b": b"two"})
    file = msgspec.json.decode(path.read_bytes())
    file["records"][0]["path"] = "/elsewhere"
    path.write_bytes(msgspec.json.encode(file))
    assert _code(_open(path)) == "approvals-tampered"
    with pytest.raises(ClawftError):
        _open(path).has("config", "/b", b"two")


def test_what_was_tampered_with_is_not_written_over(path: Path) -> None:
    _open(path).add("config", {"/a": b"one"})
    path.write_bytes(edited := path.read_bytes().replace(b"/a", b"/b"))
    for change in (
        lambda: _open(path).add("config", {"/c": b""}),
        lambda: _open(path).remove(lambda _: True),
    ):
        with pytest.raises(ClawftError):
            change()
    assert path.read_bytes() == edited


def test_records_without_any_seal_count_for_nothing(path: Path) -> None:
    _open(path).add("config", {"/a": b"one"})
    file = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode({**file, "seal": ""}))
    assert _code(_open(path)) == "approvals-tampered"
    path.write_bytes(msgspec.json.encode(file["records"]))
    assert _code(_open(path)) == "approvals-damaged"


@pytest.mark.parametrize("key", [b"k" * 32, None])
def test_with_another_key_or_none_they_count_for_nothing(path: Path, key: bytes | None) -> None:
    _open(path).add("config", {"/a": b"one"})
    kept = Path(f"{path}.key")
    kept.unlink() if key is None else kept.write_bytes(key)
    assert _code(_open(path)) == ("approvals-damaged" if key is None else "approvals-tampered")
    if key is None:
        assert not kept.exists(), "reading makes no key"


def test_the_seal_of_one_kind_does_not_fit_another(tmp_path: Path, path: Path) -> None:
    _open(path).remove(lambda _: True)  # an empty list is the same for both
    moved = tmp_path / "overrides.json"
    os.replace(path, moved)
    assert _code(Overrides(str(moved), Seal(f"{path}.key"))) == "overrides-tampered"


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b'{"seal": "", "records": [{"kind": "config"}]}', b"\xff", b'{"seal": "", "records": ' * 9999],
)
def test_a_damaged_file_approves_nothing_and_is_not_overwritten(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert _code(_open(path)) == "approvals-damaged"
    with pytest.raises(ClawftError):
        _open(path).add("config", {"/a": b""})
    assert path.read_bytes() == content


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_counts_for_nothing(path: Path, mode: int) -> None:
    _open(path).add("config", {"/a": b""})
    path.chmod(mode)
    assert _code(_open(path)) == "approvals-unsafe"


def test_a_link_in_the_place_of_the_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    _open(path).add("config", {"/a": b""})
    os.replace(path, tmp_path / "real")
    path.symlink_to(tmp_path / "real")
    with pytest.raises(ClawftError):
        _open(path).load()


def test_eight_processes_that_approve_at_once_lose_nothing(path: Path) -> None:
    running = [_start(path, str(number), 5) for number in range(8)]
    assert [one.wait(timeout=60) for one in running] == [0] * 8
    assert len(_open(path).load()) == 40


def test_a_process_killed_while_it_approves_leaves_a_whole_file_and_no_lock(path: Path) -> None:
    _open(path).add("config", {"/mine": b"one"})
    process = _start(path, "a", 10**9)
    while len(_open(path).load()) < 3:  # now it is in the middle of its work
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    known = len(_open(path).load())
    _open(path).add("config", {"/after": b""})
    assert len(_open(path).load()) == known + 1
    assert _open(path).has("config", "/mine", b"one")


def _start(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", APPROVES, str(path), name, str(count)])
