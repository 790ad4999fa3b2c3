"""Approvals: this content at this place, and nothing else."""

import os
import pwd
import stat
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from clawft.scanner.findings import Power
from clawft.trust.approvals import Approval, Approvals, hash_bytes, make_approval
from clawft.trust.records import Seal


def _open(path: Path) -> Approvals:
    return Approvals(str(path), Seal(str(path.parent / "trust.key")))


def test_an_approval_is_of_one_content_at_one_place(tmp_path: Path) -> None:
    approvals = _open(tmp_path / "new" / "approvals.json")
    approvals.add("config", {"/a": b"one"})
    assert approvals.has("config", "/a", b"one")
    assert not approvals.has("config", "/a", b"two")
    assert not approvals.has("config", "/b", b"one")
    assert not approvals.has("instructions", "/a", b"one")


def test_a_new_decision_about_a_place_takes_the_place_of_the_old(tmp_path: Path) -> None:
    approvals = _open(tmp_path / "approvals.json")
    approvals.add("config", {"/a": b"one", "/b": b"b"})
    approvals.add("config", {"/a": b"two"})
    assert [approvals.has("config", "/a", text) for text in (b"one", b"two")] == [False, True]
    assert approvals.has("config", "/b", b"b")


def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    _open(tmp_path / "own" / "approvals.json").add("config", {"/a": b""})
    assert stat.S_IMODE((tmp_path / "own" / "approvals.json").stat().st_mode) == 0o600
    assert sorted(one.name for one in (tmp_path / "own").iterdir()) == [
        "approvals.head",
        "approvals.json",
        "approvals.json.lock",
        "trust.key",
    ]


def test_what_was_decided_about_a_place_is_found_whatever_is_there_now(tmp_path: Path) -> None:
    approvals = _open(tmp_path / "approvals.json")
    approvals.record([make_approval("skill", "/s", hash_bytes(b"one"), "keeper", Power(network=("a.example",)))])
    known = approvals.find("skill", "/s")
    assert known is not None
    assert (known.name, known.power.network, known.digest) == ("keeper", ("a.example",), hash_bytes(b"one"))
    assert known.by, "who decided is kept"
    assert datetime.fromisoformat(known.at).tzinfo is not None
    assert approvals.find("agent", "/s") is None


def test_approvals_are_taken_back_one_by_one(tmp_path: Path) -> None:
    approvals = _open(tmp_path / "approvals.json")
    approvals.add("config", {"/a": b"", "/b": b""})
    assert [one.path for one in approvals.remove(lambda one: one.path == "/a")] == ["/a"]
    assert approvals.remove(lambda one: one.path == "/a") == ()
    assert [one.path for one in approvals.load()] == ["/b"]


def test_what_is_decided_anew_about_folders_of_skills_replaces_only_that(tmp_path: Path) -> None:
    approvals = _open(tmp_path / "approvals.json")
    kinds = [("skill", "/a"), ("former", "/a"), ("skill", "/b"), ("former", "/b"), ("agent", "/a"), ("config", "/b")]
    approvals.record(make_approval(kind, path, "sha256:0") for kind, path in kinds)
    approvals.replace(["/a", "/c"], [make_approval("skill", "/c", "sha256:1")])
    assert [(one.kind, one.path) for one in approvals.load()] == [*kinds[2:], ("skill", "/c")]
    approvals.replace(["/b"], [])
    assert [(one.kind, one.path) for one in approvals.load()] == [*kinds[4:], ("skill", "/c")]


def test_nothing_to_record_writes_nothing(tmp_path: Path) -> None:
    _open(tmp_path / "new" / "approvals.json").record([])
    assert not (tmp_path / "new").exists()


def test_an_approval_says_no_more_than_was_decided(tmp_path: Path) -> None:
    plain = Approval("config", "/a", "sha256:0", "now")
    assert (plain.name, plain.by, plain.power, plain.installed) == ("", "", Power(), False)
    approvals = _open(tmp_path / "approvals.json")
    approvals.add("config", {"/a": b"one"})
    (kept,) = approvals.load()
    assert (kept.name, kept.power, kept.installed) == ("", Power(), False)
    assert kept.by == pwd.getpwuid(os.geteuid()).pw_name
    assert approvals.path == str(tmp_path / "approvals.json")
    assert (make_approval("skill", "/a", "sha256:0").name, make_approval("skill", "/a", "sha256:0", "x").name) == (
        "",
        "x",
    )


def test_a_user_without_a_name_decides_under_a_number(tmp_path: Path) -> None:
    code = (
        "import os; from clawft.trust.approvals import current_user\n"
        "if os.geteuid() == 0: os.seteuid(54321)\n"
        "print(os.geteuid(), current_user())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    number, name = done.stdout.split()
    assert name == (number if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
