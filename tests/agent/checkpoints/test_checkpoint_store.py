"""The store of checkpoints: bounded, shared by processes, and without what nobody needs any more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.agent.checkpoints import store as limits
from clawft.agent.checkpoints.rewind import plan_rewind
from clawft.agent.checkpoints.snapshot import record_project
from clawft.agent.checkpoints.store import forget_session, list_stores, open_store, remove_old_stores, store_path
from clawft.errors import ClawftError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def user_dir(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def change(user_dir: str, project: Path, name: str, content: bytes, session: str = "s", turn: int = 1) -> bytes:
    """Record the project, write a file, record it once more; the tree before."""
    with open_store(user_dir, str(project)) as store:
        store.thin()
        before = record_project(store, str(project), user_dir)
        made = store.add_change("turn", session, turn, session, before)
    (project / name).write_bytes(content)
    with open_store(user_dir, str(project)) as store:
        store.end_change(made, record_project(store, str(project), user_dir).tree)
    return before.tree


def objects(user_dir: str, project: Path) -> int:
    with open_store(user_dir, str(project)) as store:
        return int(store._connection.execute("SELECT count(*) FROM objects").fetchone()[0])


def test_the_oldest_changes_go_when_there_are_too_many_and_the_rest_stays_whole(
    user_dir: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_CHANGES", 20)
    for turn in range(40):
        change(user_dir, project, "a.txt", f"content {turn}".encode(), turn=turn)
    with open_store(user_dir, str(project)) as store:
        kept = store.list_changes("1")
        assert 15 <= len(kept) <= 21
        assert kept[-1].turn == 39
        for one in kept:
            assert one.after is not None
            (entry,) = store.load_tree(one.after).values()
            assert store.get(entry.digest) == f"content {one.turn}".encode()
    assert objects(user_dir, project) < 2 * 22 + 2


def test_the_oldest_changes_go_when_they_take_too_much_room(
    user_dir: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 3 << 20)
    for turn in range(12):
        change(user_dir, project, "noise.bin", os.urandom(1 << 20), turn=turn)
    with open_store(user_dir, str(project)) as store:
        store.thin()
        turns = [one.turn for one in store.list_changes("1")]
    assert turns
    assert turns[-1] == 11
    assert os.path.getsize(store_path(user_dir, str(project))) < 5 << 20


def test_a_session_that_is_removed_leaves_no_content(user_dir: str, project: Path) -> None:
    change(user_dir, project, "secret.txt", b"the secret of one", session="one")
    change(user_dir, project, "secret.txt", b"the secret of two", session="two")
    (project / "secret.txt").unlink()
    change(user_dir, project, "b.txt", b"x", session="three")
    for session in ("one", "two", "three"):
        forget_session(user_dir, session)
    with open_store(user_dir, str(project)) as store:
        assert store.list_changes("1") == []
    assert objects(user_dir, project) == 2  # the project as it was last seen


def test_stores_of_projects_that_were_left_go(user_dir: str, project: Path) -> None:
    change(user_dir, project, "a.txt", b"x")
    remove_old_stores(user_dir)
    (path,) = list_stores(user_dir)
    os.utime(path, (1, 1))
    remove_old_stores(user_dir)
    assert list_stores(user_dir) == []


def test_a_damaged_store_is_named_with_what_to_do(user_dir: str, project: Path) -> None:
    before = change(user_dir, project, "a.txt", b"x" * 5000)
    path = store_path(user_dir, str(project))
    with open_store(user_dir, str(project)) as store:
        store._connection.execute("UPDATE objects SET content = zeroblob(length(content))")
    with pytest.raises(ClawftError, match="damaged") as caught, open_store(user_dir, str(project)) as store:
        store.load_tree(before)
    assert caught.value.code == "checkpoints-unusable"
    Path(path).write_bytes(b"no database")
    with pytest.raises(ClawftError) as caught, open_store(user_dir, str(project)) as store:
        store.list_changes("1")
    assert caught.value.code == "checkpoints-unusable"
    assert "move it away" in caught.value.hint


_WRITER = """
import sys
from pathlib import Path
from clawft.agent.checkpoints.rewind import plan_rewind
from clawft.agent.checkpoints.snapshot import record_project
from clawft.agent.checkpoints.store import open_store
user_dir, project, name = sys.argv[1:]
for turn in range(6):
    with open_store(user_dir, project) as store:
        before = record_project(store, project, user_dir)
        made = store.add_change("turn", name, turn, name, before)
    Path(project, name).write_text(f"{name} {turn}")
    with open_store(user_dir, project) as store:
        store.end_change(made, record_project(store, project, user_dir).tree)
        store._collect()
"""


def test_processes_share_one_store_and_lose_nothing(user_dir: str, project: Path) -> None:
    words = [sys.executable, "-c", _WRITER, user_dir, str(project)]
    writers = [subprocess.Popen([*words, name]) for name in ("one", "two", "three")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    with open_store(user_dir, str(project)) as store:
        changes = store.list_changes("1")
        assert len(changes) == 18
        for one in changes:
            assert one.after is not None
            assert not one.broken
            entry = store.load_tree(one.after)[one.session.encode()]
            assert store.get(entry.digest).decode() == f"{one.session} {one.turn}"


def test_a_change_that_keeps_size_and_time_is_seen(user_dir: str, project: Path) -> None:
    file = project / "a.txt"
    file.write_text("one")
    status = file.stat()
    with open_store(user_dir, str(project)) as store:
        before = record_project(store, str(project), user_dir)
    file.write_text("two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with open_store(user_dir, str(project)) as store:
        after = record_project(store, str(project), user_dir)
    assert before.tree != after.tree


def test_nothing_of_weft_itself_is_recorded_where_the_project_is_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".clawft").mkdir(parents=True)
    (home / ".clawft/serve-token").write_text("secret")
    (home / "a.txt").write_text("a")
    with open_store(str(home / ".clawft"), str(home)) as store:
        tree = record_project(store, str(home), str(home / ".clawft")).tree
        assert list(store.load_tree(tree)) == [b"a.txt"]


def test_what_two_sessions_changed_in_the_same_span_is_asked_about(user_dir: str, project: Path) -> None:
    def begin(session: str) -> int:
        with open_store(user_dir, str(project)) as store:
            return store.add_change("turn", session, 1, session, record_project(store, str(project), user_dir))

    one = begin("one")
    two = begin("two")
    (project / "by-one.txt").write_text("1")
    (project / "by-two.txt").write_text("2")
    with open_store(user_dir, str(project)) as store:
        store.end_change(one, record_project(store, str(project), user_dir).tree)
    (project / "later-by-two.txt").write_text("2")
    plan = plan_rewind(user_dir, str(project), "one", [1], 0, 1)  # while the other one still goes on
    both = "also changed by session two"
    assert {step.shown: step.changed for step in plan.steps} == {"by-one.txt": both, "by-two.txt": both}
    with open_store(user_dir, str(project)) as store:
        store.end_change(two, record_project(store, str(project), user_dir).tree)
        assert [change.broken for change in store.list_changes("1")] == [False, False]
