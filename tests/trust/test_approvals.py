"""Approvals: this content at this place, and nothing else."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.errors import ClawftError
from clawft.trust.approvals import Approvals


def test_an_approval_is_of_one_content_at_one_place(tmp_path: Path) -> None:
    approvals = Approvals(str(tmp_path / "new" / "approvals.json"))
    approvals.add("config", {"/a": b"one"})
    assert approvals.has("config", "/a", b"one")
    assert not approvals.has("config", "/a", b"two")
    assert not approvals.has("config", "/b", b"one")
    assert not approvals.has("instructions", "/a", b"one")


def test_a_new_decision_about_a_place_takes_the_place_of_the_old(tmp_path: Path) -> None:
    approvals = Approvals(str(tmp_path / "approvals.json"))
    approvals.add("config", {"/a": b"one", "/b": b"b"})
    approvals.add("config", {"/a": b"two"})
    assert [approvals.has("config", "/a", text) for text in (b"one", b"two")] == [False, True]
    assert approvals.has("config", "/b", b"b")


def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    Approvals(str(tmp_path / "own" / "approvals.json")).add("config", {"/a": b""})
    assert stat.S_IMODE((tmp_path / "own" / "approvals.json").stat().st_mode) == 0o600
    assert sorted(one.name for one in (tmp_path / "own").iterdir()) == ["approvals.json", "approvals.json.lock"]


def test_processes_that_approve_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from clawft.trust.approvals import Approvals\n"
        "for n in range(20): Approvals(sys.argv[1]).add('config', {f'{sys.argv[2]}-{n}': b''})"
    )
    path = str(tmp_path / "approvals.json")
    running = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("a", "b")]
    assert [one.wait(timeout=60) for one in running] == [0, 0]
    assert len(Approvals(path).load()) == 40


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'[{"kind": "config"}]', b"\xff"])
def test_a_damaged_file_approves_nothing_and_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "approvals.json"
    path.write_bytes(content)
    with pytest.raises(ClawftError) as caught:
        Approvals(str(path)).has("config", "/a", b"")
    assert caught.value.code == "approvals-damaged"
    with pytest.raises(ClawftError):
        Approvals(str(path)).add("config", {"/a": b""})
    assert path.read_bytes() == content
