"""Drafts of several processes: one that writes meanwhile, many at once, one without room, one that is killed."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from clawft.agent.sessions import OpenSession, SessionStore
from clawft.errors import ClawftError
from clawft.messages import Message


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path / "sessions"))


def say(session: OpenSession, text: str) -> None:
    """One turn."""
    turn = session.next_turn
    session.append(Message("user", text), turn)
    session.finish_turn(turn)


def begin(store: SessionStore) -> Path:
    """A session with a turn in it."""
    with store.open("k") as session:
        say(session, "one")
        return Path(session.path)


def contents(session: OpenSession) -> list[str | None]:
    return [one.content for one in session.messages]


def now_in(store: SessionStore) -> list[str | None]:
    with store.open("k") as session:
        return contents(session)


HOLD = """
import sys
from clawft.messages import Message
from clawft.agent.sessions import SessionStore
with SessionStore(sys.argv[1]).open("k") as session:
    session.append(Message("user", "from elsewhere"), session.next_turn)
    print("open", flush=True)
    sys.stdin.read()
    session.finish_turn(session.next_turn - 1)
"""


def test_a_session_that_another_process_writes_is_read_at_once_and_committed_to_later(
    store: SessionStore, child_env: dict[str, str]
) -> None:
    begin(store)
    command = [sys.executable, "-c", HOLD, store.folder]
    with subprocess.Popen(command, env=child_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"open\n"
            draft = store.open_draft("k")
            assert contents(draft) == ["one", "from elsewhere"]
            say(draft, "two")
            with pytest.raises(ClawftError) as caught:
                draft.commit("run-1")
            assert caught.value.code == "session-busy"
            other.communicate(timeout=60)
        finally:
            other.kill()
    draft.commit("run-1")
    assert now_in(store) == ["one", "from elsewhere", "two"]
    assert [turn.turn for turn in store.read("k").turns] == [1, 2, 3]


MANY = """
import sys, time
from clawft.errors import ClawftError
from clawft.messages import Message
from clawft.agent.sessions import SessionStore
store, name, end = SessionStore(sys.argv[1]), sys.argv[2], time.monotonic() + 50
print("ready", flush=True)
sys.stdin.read()
for number in range(10):
    draft = store.open_draft("k", cwd="/work")
    draft.append(Message("user", f"{name} {number}"), draft.next_turn)
    draft.finish_turn(draft.next_turn - 1)
    for _ in range(2):
        while time.monotonic() < end:
            try:
                draft.commit(f"{name}-{number}")
                break
            except ClawftError as error:
                assert error.code == "session-busy", error
"""


def test_runs_of_many_processes_all_find_their_place_in_one_session(
    store: SessionStore, child_env: dict[str, str]
) -> None:
    names = ["a", "b", "c"]
    with ExitStack() as stack:
        workers = []
        for name in names:
            command = [sys.executable, "-c", MANY, store.folder, name]
            worker = stack.enter_context(
                subprocess.Popen(command, env=child_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            stack.callback(worker.kill)
            workers.append(worker)
        assert [worker.stdout.readline() for worker in workers if worker.stdout] == [b"ready\n"] * 3
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.close()
        assert [worker.wait(timeout=60) for worker in workers] == [0] * 3
    turns = store.read("k").turns
    assert [turn.turn for turn in turns] == list(range(1, 31))
    assert [turn.totals.messages for turn in turns] == list(range(1, 31))
    assert sorted(turn.run for turn in turns) == sorted(f"{name}-{number}" for name in names for number in range(10))
    assert store.read("k").diagnostics == ()
    assert store.read_bytes("k").count(b'"type":"session"') == 1


FULL = """
import resource, sys
from clawft.errors import ClawftError
from clawft.messages import Message
from clawft.agent.sessions import SessionStore
draft = SessionStore(sys.argv[1]).open_draft("k")
for number in range(50):
    draft.append(Message("user", "x" * 4000), draft.next_turn)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    draft.commit("run-1")
except ClawftError as error:
    print(error.code)
"""


def test_a_run_that_finds_no_room_leaves_the_session_as_it_was(store: SessionStore, child_env: dict[str, str]) -> None:
    path = begin(store)
    before, base = path.read_bytes(), store.open_draft("k").base
    command = [sys.executable, "-c", FULL, store.folder]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "session-write\n", done.stderr
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["k.jsonl"]
    again = store.open_draft("k")
    assert again.base == base
    say(again, "two")
    again.commit("run-1")
    assert now_in(store) == ["one", "two"]


# Commits a turn and is killed at the nth call that changes the disk, or in the middle of what that writes.
KILLED = """
import os, signal, sys
from clawft.messages import Message
from clawft.agent.sessions import SessionStore

folder, point, share = sys.argv[1], 0, 0.0
calls = 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def watch(name):
    real = getattr(os, name)
    def call(*args):
        global calls
        calls += 1
        if calls == point:
            if name == "write" and share:
                real(args[0], bytes(args[1])[: int(len(args[1]) * share)])
            die()
        return real(*args)
    setattr(os, name, call)

def commit(store, base):
    draft = store.open_draft("k", base=base)
    for number in range(4):
        draft.append(Message("user", f"mine {number}"), draft.next_turn if not number else draft.next_turn - 1)
    draft.finish_turn(draft.next_turn - 1)
    draft.commit("run-1")

def read(path):
    return open(path, "rb").read() if os.path.exists(path) else b""

def check(store, base, between):
    path = os.path.join(store.folder, "k.jsonl")
    left = read(path)
    mine = [f"mine {number}" for number in range(4)]
    seen = store.open_draft("k")
    shown = [one.content for one in seen.messages]
    assert shown in (["old"] * bool(base), ["old"] * bool(base) + mine), shown
    if between:
        with store.open("k") as session:
            session.append(Message("user", "between"), session.next_turn)
            session.finish_turn(session.next_turn - 1)
    commit(store, base)
    commit(store, base)
    with store.open("k") as session:
        shown = [one.content for one in session.messages]
    expected = [mine + ["between"] * between, ["between"] * between + mine]
    assert [one for one in shown if one != "old"] in expected, (point, share, shown)
    turns = store.read("k").turns
    assert [one.turn for one in turns] == list(range(1, len(turns) + 1)), turns
    assert turns[-1].totals.messages == len(store.read("k").messages)
    assert not os.path.exists(path + ".adding")
    kept = read(path) + read(path + ".torn")
    assert all(line in kept for line in left.split(b"\\n"))

kills = 0
for existing in (False, True):
    for share in (0.0, 0.3, 0.6, 0.97):
        for between in (False, True):
            point = 0
            while True:
                point += 1
                store = SessionStore(os.path.join(folder, f"{existing}-{share}-{between}-{point}"))
                base = 0
                if existing:
                    with store.open("k") as session:
                        session.append(Message("user", "old"), 1)
                        session.finish_turn(1)
                    base = store.open_draft("k").base
                child = os.fork()
                if not child:
                    for name in ("write", "fsync", "unlink", "ftruncate", "open"):
                        watch(name)
                    commit(store, base)
                    os._exit(0)
                if not os.waitpid(child, 0)[1]:
                    break
                kills += 1
                check(store, base, between)
print(kills)
"""


def test_a_run_that_is_killed_anywhere_in_its_commit_is_committed_once(
    store: SessionStore, child_env: dict[str, str]
) -> None:
    command = [sys.executable, "-c", KILLED, store.folder]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
