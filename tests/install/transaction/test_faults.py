"""Install, update and remove on a disk that fails: what is reported is what is, then and after the next command."""

import errno
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from faults import Fault, run_faulty
from soak_faults import main as soak
from warm import run_warm

pytestmark = pytest.mark.unmeasured  # processes that are killed, and many
UNWRITABLE = ["audit.jsonl", "audit.head", "approvals.json", "approvals.head", "approvals.json.lock", "approved/"]


class Weft:
    """The command line of one user."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env
        self.home = Path(env["HOME"])
        self.user = self.home / ".clawft"

    def write(self, name: str, text: str = "Hello.") -> str:
        folder = self.folder / "sources" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Says {name} when asked.\n---\n{text}\n")
        return str(folder)

    def run(self, *words: str, code: int = 0) -> str:
        done = run_warm(["weft", "skills", *words], cwd=self.folder, env=self.env)
        assert done.returncode == code, done.stderr
        return done.stderr

    def fail(self, how: str, path: str, *words: str, number: int = errno.EACCES) -> Any:
        fault = Fault(str(self.home), how, errno=number, path=path)
        return run_faulty(fault, ["skills", *words], cwd=self.folder, env=self.env)

    def ask(self, *words: str) -> Any:
        done = run_warm(["weft", *words, "--format", "json"], cwd=self.folder, env=self.env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def installed(self) -> set[str]:
        """The skills that the lock, the folders and the list of skills agree on."""
        verified = self.ask("skills", "verify")
        names = {one["name"] for one in verified["skills"]}
        listed = {one["name"]: one["state"] for one in self.ask("skills", "list")["skills"] if one["scope"] == "user"}
        assert listed == dict.fromkeys(names, "ready")
        assert [one.name for one in (self.user / "installing").iterdir()] == ["turn.lock"]
        assert not [one.name for one in (self.user / "skills").iterdir() if one.name.startswith(".")]
        return names

    def logged(self, name: str) -> list[tuple[str, str]]:
        lines = self.ask("audit", "show", "--kind", "install", "--skill", name)["lines"]
        return [(line["subject"].split()[0], line["decision"]) for line in lines]


@pytest.fixture
def weft(tmp_path: Path, child_env: dict[str, str]) -> Weft:
    return Weft(tmp_path, child_env)


@pytest.mark.parametrize("file", UNWRITABLE)
def test_an_install_that_cannot_be_concluded_is_not_done_now_or_later(weft: Weft, file: str) -> None:
    weft.run("install", weft.write("one"), weft.write("keep"), "--yes")
    failed = weft.fail("file", file, "install", weft.write("two"), "--yes")
    assert failed.returncode in (1, 3), failed
    assert "error[" in failed.stderr
    weft.run("remove", "one", "--yes")
    assert weft.installed() == {"keep"}
    assert weft.logged("one") == [("install", "done"), ("remove", "done")]
    assert weft.logged("two") in ([], [("install", "done"), ("install", "failed")])


@pytest.mark.parametrize("file", ["audit.jsonl", "approvals.json", "skills.lock"])
def test_an_update_and_a_removal_that_cannot_be_concluded_leave_what_was_there(weft: Weft, file: str) -> None:
    weft.run("install", weft.write("one"), "--yes")
    skill = weft.user / "skills" / "one" / "SKILL.md"
    before = skill.read_text()
    weft.write("one", "Hello again.")
    assert weft.fail("file", file, "update", "one", "--yes").returncode in (1, 3)
    assert skill.read_text() == before
    assert weft.fail("file", file, "remove", "one", "--yes").returncode in (1, 3)
    assert weft.installed() == {"one"}
    assert skill.read_text() == before
    decisions = [decision for _, decision in weft.logged("one")]
    assert decisions.count("done") == decisions.count("failed") + 1


def test_what_can_be_neither_finished_nor_taken_back_says_so_and_is_taken_back_before_anything_else(weft: Weft) -> None:
    weft.run("install", weft.write("one"), "--yes")
    lock = (weft.user / "skills.lock").read_text()
    failed = weft.fail("full", "approvals.head", "install", weft.write("two"), "--yes")
    assert failed.returncode == 3
    assert (
        "error[install-unfinished]: This failed half way, and will be taken back by the next weft command"
        in failed.stderr
    )
    assert "No space left on device" in failed.stderr

    refused = weft.fail("file", "skills.lock", "install", weft.write("three"), "--yes")
    assert refused.returncode == 3
    assert "install-unfinished" in refused.stderr
    assert "install two" in refused.stderr or "two" in refused.stderr

    weft.run("remove", "one", "--yes")
    assert weft.installed() == set()
    assert "[skill.two]" not in (weft.user / "skills.lock").read_text()
    assert "[skill.one]" in lock


def test_a_failure_that_cannot_even_be_noted_says_that_the_next_command_finishes(weft: Weft) -> None:
    weft.run("install", weft.write("one"), "--yes")
    fault = Fault(str(weft.home), "read-only", path="approvals.head")
    failed = run_faulty(fault, ["skills", "install", weft.write("two"), "--yes"], cwd=weft.folder, env=weft.env)
    assert failed.returncode == 3
    assert "will be finished by the next weft command" in failed.stderr
    assert weft.installed() == {"one", "two"}
    assert weft.logged("two") == [("install", "done")]


def test_what_is_done_but_for_its_note_is_done_and_the_next_command_removes_the_note(weft: Weft) -> None:
    failed = weft.fail("file", ".undo", "install", weft.write("one"), "--yes")
    assert failed.returncode == 0, failed.stderr
    assert "warning[install-note-left]: All is done, but the note of it cannot be removed" in failed.stderr
    assert "Permission denied" in failed.stderr
    assert weft.installed() == {"one"}
    assert weft.logged("one") == [("install", "done")]


@pytest.mark.parametrize("step", ["approvals.head", "approvals.json", "audit.jsonl", "skills.lock", "turn.lock"])
def test_a_killed_install_is_finished_or_forgotten_and_logged_once(weft: Weft, step: str) -> None:
    weft.run("install", weft.write("one"), "--yes")
    killed = weft.fail("kill", step, "install", weft.write("two"), "--yes")
    assert killed.returncode == -signal.SIGKILL
    finished = step != "turn.lock"
    assert weft.installed() == ({"one", "two"} if finished else {"one"})
    assert weft.logged("two") == [("install", "done")] * finished
    approved = [one["name"] for one in weft.ask("skills", "trust", "--list")["approvals"]]
    assert sorted(approved) == ["one", *["two"] * finished]


def test_a_killed_removal_is_finished_with_its_approval_and_its_line(weft: Weft) -> None:
    weft.run("install", weft.write("one"), weft.write("two"), "--yes")
    killed = weft.fail("kill", "skills.lock", "remove", "one", "--yes")
    assert killed.returncode == -signal.SIGKILL
    assert weft.installed() == {"two"}
    assert weft.logged("one") == [("install", "done"), ("remove", "done")]
    assert [one["name"] for one in weft.ask("skills", "trust", "--list")["approvals"]] == ["two"]


def test_what_is_finished_later_joins_the_lock_that_is_there_by_then(weft: Weft) -> None:
    weft.run("install", weft.write("one"), weft.write("keep"), "--yes")
    killed = weft.fail("kill", "approvals.json", "install", weft.write("two"), "--yes")
    assert killed.returncode == -signal.SIGKILL
    lock = weft.user / "skills.lock"
    blocks = lock.read_text().split("\n[skill.")
    keep = next(block for block in blocks if block.startswith("keep]"))
    mine = keep.replace("keep]", "mine]", 1)
    without = [block for block in blocks if not block.startswith(("one]", "two]"))]
    lock.write_text("\n[skill.".join([*without, mine]))  # as another machine left it, through version control
    run_warm(["weft", "skills", "verify"], cwd=weft.folder, env=weft.env)
    names = {line.removeprefix("[skill.").rstrip("]") for line in lock.read_text().splitlines() if line.startswith("[")}
    assert names == {"keep", "mine", "two"}


def test_commands_at_once_on_a_failing_disk_report_what_is() -> None:
    assert soak(rounds=6).total() >= 6
