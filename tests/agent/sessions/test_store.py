"""All sessions: list, find, copy, remove, and names of older programs."""

import ctypes
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from clawft.agent.sessions import SessionStore
from clawft.errors import ClawftError
from clawft.messages import Message, Usage


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path / "sessions"))


def talk(store: SessionStore, key: str, *texts: str, age_s: int = 0) -> Path:
    """A session with a turn for each text."""
    with store.open(key, cwd="/work") as session:
        for turn, text in enumerate(texts, 1):
            session.append(Message("user", text), turn)
            session.append(Message("assistant", f"About {text}"), turn)
            session.finish_turn(turn, usage=Usage(5, 1), model="local/small")
        path = Path(session.path)
    at = path.stat().st_mtime - age_s
    os.utime(path, (at, at))
    return path


def code_of(store: SessionStore, key: str) -> str:
    with pytest.raises(ClawftError) as caught:
        store.open(key)
    return caught.value.code


def test_list_gives_back_every_key_newest_first(store: SessionStore) -> None:
    keys = ["telegram:user_123", "ключ 日本", "a_b:c_d", "cli"]
    for age, key in enumerate(keys):
        talk(store, key, "hello", age_s=age * 60)
    assert store.keys() == tuple(keys)
    assert [one.key for one in store.list()] == keys
    assert [one.key for one in store.list(2)] == keys[:2]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_pages_hold_every_session_once_and_the_last_one_says_so(store: SessionStore, limit: int) -> None:
    keys = ["new", "a", "b", "c", "old"]
    for key, age in zip(keys, (0, 60, 60, 60, 120), strict=True):
        path = talk(store, key, "hello")
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    pages: list[list[str]] = []
    cursor = ""
    while not pages or cursor:
        page, cursor = store.page(limit, cursor)
        pages.append([one.key for one in page])
    assert [key for page in pages for key in page] == keys
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1]


@pytest.mark.parametrize("cursor", ["x", "12", "12:", ":a", "-1:a", "1" * 21 + ":a"])
def test_what_is_no_cursor_is_an_error(store: SessionStore, cursor: str) -> None:
    with pytest.raises(ClawftError) as caught:
        store.page(1, cursor)
    assert caught.value.code == "cursor-invalid"


def test_forks_are_on_a_page_only_if_they_are_asked_for(store: SessionStore) -> None:
    talk(store, "a", "hello")
    talk(store, "a:fork-1", "hello", age_s=60)
    assert [one.key for one in store.page(9)[0]] == ["a"]
    assert [one.key for one in store.page(9, forks=True)[0]] == ["a", "a:fork-1"]


def test_no_file_stays_open_after_what_is_done_at_once(store: SessionStore) -> None:
    talk(store, "a", "hello")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        store.fork("a", f"b{number}")
        store.read("a")
        store.remove(f"b{number}")
        with pytest.raises(ClawftError):
            store.read("none")
    assert len(os.listdir("/proc/self/fd")) == before


def test_session_is_in_the_store_by_its_whole_key(store: SessionStore) -> None:
    talk(store, "abc", "hello")
    assert "abc" in store
    assert "ab" not in store


def test_forks_are_listed_only_if_they_are_asked_for(store: SessionStore) -> None:
    talk(store, "a", "hello")
    talk(store, "a:fork-1", "hello", age_s=60)
    assert [one.key for one in store.list()] == ["a"]
    assert [one.key for one in store.list(forks=True)] == ["a", "a:fork-1"]


def test_session_that_cannot_be_read_is_none_and_is_told(store: SessionStore) -> None:
    path = talk(store, "a", "hello")
    (path.parent / "b.jsonl").mkdir()
    assert store.find("b") is None
    assert [(one.code, one.path) for one in store.diagnostics] == [("session-unreadable", f"{path.parent}/b.jsonl")]
    assert store.find("none") is None
    assert len(store.diagnostics) == 1


def test_only_plain_files_are_sessions(store: SessionStore) -> None:
    path = talk(store, "a", "hello")
    (path.parent / "folder.jsonl").mkdir()
    (path.parent / "link.jsonl").symlink_to(path)
    (path.parent / "other.txt").write_text("x")
    assert store.keys() == ("a",)


def test_files_that_are_removed_while_they_are_listed_are_passed_over(store: SessionStore) -> None:
    path = talk(store, "a", "hello")
    others = [path.parent / f"b{number}.jsonl" for number in range(40)]
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            for other in others:
                other.touch()
            for other in others:
                other.unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        assert all("a" in store.keys() for _ in range(300))  # noqa: SIM118
    finally:
        is_over.set()
        thread.join(60)


def test_folder_of_sessions_is_closed_to_others(store: SessionStore) -> None:
    Path(store.folder).mkdir(mode=0o755)
    talk(store, "a", "hello")
    assert Path(store.folder).stat().st_mode & 0o777 == 0o700


def test_folder_that_was_just_made_is_there_after_a_power_failure(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    talk(store, "a", "hello")
    assert str(tmp_path.resolve()) in synced


def test_folder_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sessions").symlink_to(tmp_path / "none")
    assert code_of(SessionStore(str(tmp_path / "sessions")), "k") == "session-write"


def obey_rights() -> None:
    """Take from the program that is started what lets root write everywhere; others have no such thing."""
    drop_capability, pass_over_rights = 24, 1
    ctypes.CDLL(None).prctl(drop_capability, pass_over_rights, 0, 0, 0)


def test_fork_that_cannot_be_written_is_an_error_and_leaves_nothing(store: SessionStore) -> None:
    talk(store, "a", "hello")
    Path(store.folder).chmod(0o500)
    code = (
        "import sys; from clawft.errors import ClawftError; from clawft.agent.sessions import SessionStore\n"
        "try: SessionStore(sys.argv[1]).fork('a', 'b')\n"
        "except ClawftError as error: print(error.code, error)"
    )
    words = [sys.executable, "-c", code, store.folder]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, preexec_fn=obey_rights)
    Path(store.folder).chmod(0o700)
    assert (done.stdout, done.stderr) == ("session-write The session could not be written: Permission denied\n", "")
    assert store.keys() == ("a",)


def test_summary_is_read_from_both_ends(store: SessionStore) -> None:
    path = talk(store, "k", "\n  First line \nsecond", "x" * 400_000, "end")
    with store.open("k") as session:
        session.append(Message("user", "unfinished"), 4)
    (one,) = store.list()
    assert (one.title, one.turns, one.messages) == ("First line", 3, 7)
    assert (one.key, one.path, one.bytes) == ("k", str(path), path.stat().st_size)
    assert one.created <= one.updated
    assert store.get("k") == one


def test_title_of_a_long_first_message_and_of_none(store: SessionStore) -> None:
    talk(store, "long", "Title\n" + "x" * 300_000)
    talk(store, "huge", "Title\n" + "x" * 3_000_000)
    with store.open("mute") as session:
        session.append(Message("assistant", "I speak first"), 1)
    titles = {one.key: (one.title, one.messages) for one in store.list()}
    assert titles == {"long": ("Title", 2), "huge": ("", 2), "mute": ("", 1)}


def test_folder_that_is_not_there_holds_nothing(store: SessionStore) -> None:
    assert (store.list(), store.keys(), store.search("x"), store.diagnostics) == ((), (), (), ())
    assert not Path(store.folder).exists()


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert code_of(SessionStore(str(tmp_path / "file" / "sessions")), "k") in ("session-write", "session-unreadable")
    assert code_of(SessionStore(str(tmp_path / "file")), "k") == "session-unreadable"


def test_unknown_key_gets_the_close_match(store: SessionStore) -> None:
    talk(store, "telegram:anna", "hello")
    for call in (store.read, store.get, store.remove, store.resolve):
        with pytest.raises(ClawftError) as caught:
            call("telegram:ana")
        assert (caught.value.code, caught.value.hint) == (
            "session-not-found",
            "did you mean 'telegram:anna'? Run: weft sessions list",
        )


def test_start_of_a_key_is_enough_when_one_starts_so(store: SessionStore) -> None:
    for key in ("abc", "abd", "x"):
        talk(store, key, "hello")
    assert (store.resolve("abc"), store.resolve("x"), store.resolve("abd")) == ("abc", "x", "abd")
    with pytest.raises(ClawftError, match="2 sessions start with 'ab'") as caught:
        store.resolve("ab")
    assert (caught.value.code, caught.value.hint) == ("session-ambiguous", "Say which: abc, abd")
    for number in range(5):
        talk(store, f"many{number}", "hello")
    five = "many0, many1, many2, many3, many4"
    with pytest.raises(ClawftError) as caught:
        store.resolve("many")
    assert caught.value.hint == f"Say which: {five}"
    talk(store, "many5", "hello")
    with pytest.raises(ClawftError) as caught:
        store.resolve("many")
    assert caught.value.hint == f"Say which: {five}…"
    with pytest.raises(ClawftError, match="No session ''"):
        store.resolve("")


def test_remove_takes_what_was_set_aside_too(store: SessionStore) -> None:
    path = talk(store, "k", "hello")
    path.write_bytes(path.read_bytes() + b'{"torn')
    store.open("k").close()
    assert len(list(path.parent.iterdir())) == 2
    store.remove("k")
    assert list(path.parent.iterdir()) == []


def test_fork_copies_the_first_turns(store: SessionStore) -> None:
    talk(store, "a", "one", "two", "three")
    talk(store, "begun", "one")
    with store.open("begun") as session:
        session.append(Message("user", "unfinished"), 2)
    store.fork("begun", "first turn", 1)
    assert [one.content for one in store.read("first turn").messages] == ["one", "About one"]
    for key in ("begun", "first turn"):
        store.remove(key)
    store.fork("a", "whole")
    store.fork("a", "two:turns", 2)
    store.fork("a", "none", 0)
    store.fork("a", "more", 9)
    counts = {one.key: (one.turns, one.messages) for one in store.list()}
    assert counts == {"a": (3, 6), "whole": (3, 6), "two:turns": (2, 4), "none": (0, 0), "more": (3, 6)}
    with store.open("two:turns") as fork:
        assert [one.content for one in fork.messages][::2] == ["one", "two"]
        assert (fork.next_turn, fork.usage, fork.header.cwd) == (3, Usage(10, 2), "/work")
        fork.append(Message("user", "another way"), 3)
    assert store.read("two:turns").header.forked_from == "a"
    assert len(store.read("a").messages) == 6


def test_fork_never_overwrites(store: SessionStore) -> None:
    talk(store, "a", "one")
    before = talk(store, "b", "two").read_bytes()
    with pytest.raises(ClawftError) as caught:
        store.fork("a", "b")
    assert caught.value.code == "session-exists"
    assert Path(store.get("b").path).read_bytes() == before
    assert len(os.listdir(store.folder)) == 2


def test_fork_of_a_file_that_tells_nothing_of_its_session_has_no_folder(store: SessionStore) -> None:
    Path(store.folder).mkdir()
    (Path(store.folder) / "old.jsonl").write_text('{"role":"user","content":"Hello"}\n')
    store.fork("old", "new")
    header = store.read("new").header
    assert (header.key, header.cwd, header.forked_from) == ("new", "", "old")
    assert [one.content for one in store.read("new").messages] == ["Hello"]


def test_search_finds_messages_in_any_case_newest_first(store: SessionStore) -> None:
    talk(store, "old", "A Needle in hay", age_s=60)
    talk(store, "new", "x" * 200 + " NEEDLE " + "y" * 200)
    hits = store.search("needle")
    assert [(one.key, one.turn, one.role) for one in hits] == [
        ("new", 1, "user"), ("new", 1, "assistant"), ("old", 1, "user"), ("old", 1, "assistant"),
    ]  # fmt: skip
    assert hits[0].snippet == f"…{'x' * 59} NEEDLE {'y' * 59}…"
    assert len(store.search("needle", 1)) == 1
    assert store.search("cwd") == ()


@pytest.mark.parametrize("query", ['say "so"', "Straße", "back\\slash", "日本", "tab\there"])
def test_search_finds_text_that_json_writes_otherwise(store: SessionStore, query: str) -> None:
    talk(store, "k", f"before {query} after")
    assert len(store.search(query)) == 2


def test_search_says_which_files_it_could_not_read(store: SessionStore) -> None:
    path = talk(store, "k", "needle")
    os.truncate(path, 1 << 31)
    assert store.search("needle") == ()
    assert [one.code for one in store.diagnostics] == ["file-too-large"]


LEGACY = '{"_type":"metadata","created_at":"2025-01-01T00:00:00"}\n{"role":"user","content":"Hello"}\n'


def test_legacy_name_is_migrated_once_and_told(store: SessionStore, tmp_path: Path) -> None:
    folder = Path(store.folder)
    folder.mkdir()
    (folder / "telegram_user_123.jsonl").write_text(LEGACY)
    (folder / "my chat.jsonl").write_text(LEGACY)
    (folder / "cli.jsonl").write_text(LEGACY)
    assert sorted(store.keys()) == ["cli", "my chat", "telegram:user_123"]
    assert sorted(os.listdir(folder)) == ["cli.jsonl", "my%20chat.jsonl", "telegram%3Auser%5F123.jsonl"]
    assert [(one.code, one.severity) for one in store.diagnostics] == [("session-migrated", "note")] * 2
    again = SessionStore(store.folder)
    assert [one.title for one in again.list()] == ["Hello"] * 3
    assert again.diagnostics == ()


def test_names_of_older_programs_are_changed_once_by_each_program(store: SessionStore) -> None:
    path = talk(store, "a", "hello")
    (path.parent / "b_c.jsonl").write_text(LEGACY)  # an older program runs beside this one
    assert store.keys() == ("a",)
    assert sorted(SessionStore(store.folder).keys()) == ["a", "b:c"]


def test_opening_a_session_migrates_its_legacy_name(store: SessionStore) -> None:
    Path(store.folder).mkdir()
    (Path(store.folder) / "telegram_user_123.jsonl").write_text(LEGACY)
    with store.open("telegram:user_123") as session:
        assert [one.content for one in session.messages] == ["Hello"]
    assert os.listdir(store.folder) == ["telegram%3Auser%5F123.jsonl"]


def test_key_in_the_metadata_line_is_preferred(store: SessionStore) -> None:
    Path(store.folder).mkdir()
    line = json.dumps({"_type": "metadata", "key": "my_app:chat:1", "created_at": "x"})
    (Path(store.folder) / "my_app_chat_1.jsonl").write_text(line + "\n")
    assert store.keys() == ("my_app:chat:1",)


def test_migration_never_overwrites(store: SessionStore) -> None:
    new = talk(store, "a:b", "new")
    before = new.read_bytes()
    old = new.parent / "a_b.jsonl"
    old.write_text(LEGACY)
    (new.parent / "50%_off.jsonl").write_text(LEGACY)
    (new.parent / f"{'long_' * 30}x.jsonl").write_text(LEGACY)
    (new.parent / ".hidden_x.jsonl").write_text(LEGACY)
    fresh = SessionStore(store.folder)
    assert fresh.keys() == ("a:b",)
    assert [one.code for one in fresh.diagnostics] == ["session-not-migrated"] * 3
    assert (new.read_bytes(), old.read_text()) == (before, LEGACY)


def test_migration_that_was_cut_short_is_ended(store: SessionStore) -> None:
    new = talk(store, "a:b", "hello")
    os.link(new, new.parent / "a_b.jsonl")
    fresh = SessionStore(store.folder)
    assert fresh.keys() == ("a:b",)
    assert os.listdir(store.folder) == ["a%3Ab.jsonl"]


WRITER = """
import sys
from clawft.messages import Message
from clawft.agent.sessions import SessionStore
with SessionStore(sys.argv[1]).open("k") as session:
    for turn in range(1, 301):
        session.append(Message("user", "x" * 3000), turn)
        session.append(Message("assistant", "y" * 9000), turn)
        session.finish_turn(turn)
        if turn == 1:
            print("writing", flush=True)
    print("written", flush=True)
    sys.stdin.read()
"""


def test_second_writer_is_told_and_readers_see_whole_turns(store: SessionStore, child_env: dict[str, str]) -> None:
    words = [sys.executable, "-c", WRITER, store.folder]
    with subprocess.Popen(words, env=child_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "writing\n"
            assert code_of(store, "k") == "session-busy"
            with pytest.raises(ClawftError, match="Another process"):
                store.remove("k")
            seen = 0
            while seen < 300:
                transcript = store.read("k")
                turns = len(transcript.turns)
                assert turns >= max(1, seen)
                assert {one.code for one in transcript.diagnostics} <= {"session-torn-line"}
                assert 2 * turns <= len(transcript.messages) <= 2 * turns + 2
                assert store.list()[0].turns >= turns
                seen = turns
            assert child.stdout.readline() == "written\n"
        finally:
            child.stdin.close()
        assert child.wait(60) == 0
    with store.open("k") as session:
        assert (session.turns, len(session.messages)) == (300, 600)


def test_same_process_cannot_open_a_session_twice(store: SessionStore) -> None:
    with store.open("k"):
        assert code_of(store, "k") == "session-busy"
        with store.open("other"):
            pass
    store.open("k").close()
