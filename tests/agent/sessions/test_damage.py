"""Session files that a crash, a disk, an older or a later program left behind."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.sessions import SessionStore
from clawft.errors import ClawftError
from clawft.messages import Message


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path))


def fill(store: SessionStore, *texts: str) -> Path:
    """A session `k` with a turn for each text."""
    with store.open("k") as session:
        for turn, text in enumerate(texts, 1):
            session.append(Message("user", text), turn)
            session.finish_turn(turn)
        return Path(session.path)


def contents(store: SessionStore) -> list[str | None]:
    with store.open("k") as session:
        return [one.content for one in session.messages]


def test_torn_last_line_is_set_aside(store: SessionStore) -> None:
    path = fill(store, "one", "two")
    whole = path.read_bytes()
    torn = b'{"type":"message","turn":3,"message":{"role":"us'
    path.write_bytes(whole + torn)
    assert [one.code for one in store.read("k").diagnostics] == ["session-torn-line"]
    with store.open("k") as session:
        assert [one.content for one in session.messages] == ["one", "two"]
        assert [(one.code, one.severity) for one in session.diagnostics] == [("session-torn-line", "warning")]
        assert path.read_bytes() == whole
        session.append(Message("user", "three"), 3)
    assert Path(f"{path}.torn").read_bytes() == torn + b"\n"
    assert contents(store) == ["one", "two", "three"]


def test_whole_last_line_without_its_end_is_kept(store: SessionStore) -> None:
    path = fill(store, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert len(store.read("k").turns) == 2
    with store.open("k") as session:
        assert (session.turns, session.diagnostics) == (2, ())
    assert path.read_bytes() == whole
    assert not Path(f"{path}.torn").exists()


@given(cut=st.integers(0, 2000))
def test_file_cut_anywhere_opens_and_goes_on(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    store = SessionStore(str(tmp_path_factory.mktemp("cut")))
    path = fill(store, *(f"message {number}" for number in range(6)))
    whole = path.read_bytes()
    kept = whole[: cut % (len(whole) + 1)]
    path.write_bytes(kept)
    with store.open("k") as session:
        before = session.messages
        assert len(before) >= kept.count(b'"type":"message"') - 1
        session.append(Message("user", "more"), session.next_turn)
        session.finish_turn(session.next_turn - 1)
        assert session.messages == (*before, Message("user", "more"))
    assert store.read("k").diagnostics == ()
    torn = Path(f"{path}.torn").read_bytes() if Path(f"{path}.torn").exists() else b""
    assert all(line in path.read_bytes() + torn for line in kept.split(b"\n"))


@given(at=st.integers(0, 2000), noise=st.binary(min_size=1, max_size=20))
def test_noise_in_the_middle_never_fails_the_rest(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    store = SessionStore(str(tmp_path_factory.mktemp("noise")))
    path = fill(store, "one", "two", "three", "four")
    whole = path.read_bytes()
    at %= len(whole) - len(noise)
    path.write_bytes(whole[:at] + noise + whole[at + len(noise) :])
    store.list()
    transcript = store.read("k")
    with store.open("k") as session:
        assert len(session.messages) <= len(transcript.messages) + 1
        session.append(Message("user", "more"), 9)
        assert session.messages[-1].content == "more"


def test_damaged_lines_are_named_and_the_rest_is_read(store: SessionStore) -> None:
    path = fill(store, "one", "two", "three")
    lines = path.read_bytes().split(b"\n")
    lines[3] = b"\0" * 200
    lines[5] = b'{"type":"message","turn":3}'
    path.write_bytes(b"\n".join([lines[0], b"", *lines[1:]]))
    transcript = store.read("k")
    assert [one.content for one in transcript.messages] == ["one"]
    said = [(one.code, one.line, one.path) for one in transcript.diagnostics]
    assert said == [("session-damaged-line", 5, str(path)), ("session-damaged-line", 7, str(path))]
    with store.open("k") as session:
        assert session.diagnostics == transcript.diagnostics
        assert session.turns == 3


def test_many_damaged_lines_are_not_named_one_by_one(store: SessionStore) -> None:
    path = fill(store, "one")
    with path.open("ab") as file:
        file.write(b"[]\n" * 5000)
    diagnostics = store.read("k").diagnostics
    assert len(diagnostics) == 21
    assert diagnostics[-1].message.startswith("4980 more lines")


def test_records_of_a_later_version_stay_and_are_told(store: SessionStore) -> None:
    path = fill(store, "one")
    later = b'{"type":"mood","value":"good"}\n'
    with path.open("ab") as file:
        file.write(later * 2 + b'{"type":"message","turn":2,"new":1,"message":{"role":"user","content":"two"}}\n')
    assert contents(store) == ["one", "two"]
    assert later * 2 in path.read_bytes()
    said = store.read("k").diagnostics
    assert [(one.code, one.message) for one in said] == [
        ("session-unknown-record", "2 records of the unknown type 'mood' left as they are")
    ]


def test_file_of_a_later_version_is_read_but_not_written(store: SessionStore) -> None:
    path = fill(store, "one")
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2'))
    transcript = store.read("k")
    assert [one.content for one in transcript.messages] == ["one"]
    assert [one.code for one in transcript.diagnostics] == ["session-version"]
    with pytest.raises(ClawftError) as caught:
        store.open("k")
    assert caught.value.code == "format-newer"


def test_file_of_another_session_is_not_written(store: SessionStore) -> None:
    """As on a file system that does not tell upper from lower case."""
    path = fill(store, "one")
    path.write_bytes(path.read_bytes().replace(b'"key":"k"', b'"key":"K"'))
    with pytest.raises(ClawftError) as caught:
        store.open("k")
    assert caught.value.code == "session-key"


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_what_is_no_regular_file_is_not_opened(store: SessionStore, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "k.jsonl"
    if kind == "link":
        (tmp_path / "elsewhere").write_text("")
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    for touch in (store.open, store.read, store.get):
        with pytest.raises(ClawftError) as caught:
            touch("k")
        assert caught.value.code == "session-unreadable"
    assert store.list() == ()


def test_lines_of_older_programs_are_read(store: SessionStore, tmp_path: Path) -> None:
    lines = [
        {"_type": "metadata", "created_at": "2025-01-02T03:04:05", "updated_at": "x", "metadata": {}},
        {"role": "user", "content": "Hello", "timestamp": "2025-01-02T03:04:06"},
        {"role": "assistant", "content": "Hi", "timestamp": "2025-01-02T03:04:07"},
        {"role": "nobody", "content": "?"},
    ]
    (tmp_path / "k.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with store.open("k") as session:
        assert [one.content for one in session.messages] == ["Hello", "Hi"]
        assert (session.next_turn, session.header.created) == (1, "2025-01-02T03:04:05")
        session.append(Message("user", "Still there?"), 1)
        session.finish_turn(1)
    summary = store.get("k")
    assert (summary.title, summary.messages, summary.turns) == ("Hello", 3, 1)
    assert [one.code for one in store.read("k").diagnostics] == ["session-damaged-line"]
