"""A turn of a background run: nothing on disk before it is over, then all of it, once."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.sessions import OpenSession, SessionStore
from clawft.errors import ClawftError
from clawft.messages import Message, ToolCall, Usage

NOW = "2026-09-21T14:13:20.500Z"
CALL = Message("assistant", None, (ToolCall("c1", "read_file", {"path": "a"}),))
RESULT = Message("tool", "ok", tool_call_id="c1", name="read_file")


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path / "sessions"), clock=lambda: 1_790_000_000.5)


def say(session: OpenSession, *texts: str) -> None:
    """A turn for each text."""
    for text in texts:
        turn = session.next_turn
        session.append(Message("user", text), turn)
        session.append(Message("assistant", f"About {text}"), turn)
        session.finish_turn(turn, usage=Usage(5, 1), model="local/small")


def talk(store: SessionStore, *texts: str) -> Path:
    """Turns in the foreground."""
    with store.open("k", cwd="/work") as session:
        say(session, *texts)
        return Path(session.path)


def contents(session: OpenSession) -> list[str | None]:
    return [one.content for one in session.messages]


def said(*texts: str) -> list[str | None]:
    return [line for text in texts for line in (text, f"About {text}")]


def now_in(store: SessionStore) -> list[str | None]:
    with store.open("k") as session:
        return contents(session)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_draft_goes_on_from_the_session_and_writes_nothing_before_its_commit(store: SessionStore) -> None:
    path = talk(store, "one")
    before = path.read_bytes()
    draft = store.open_draft("k")
    assert (draft.key, draft.base, draft.next_turn, draft.header.cwd) == ("k", len(before), 2, "/work")
    draft.activate("research", "Dig deep.", 2)
    say(draft, "two")
    assert contents(draft) == said("one", "two")
    assert path.read_bytes() == before
    draft.commit("run-1")
    assert path.read_bytes().startswith(before)
    with store.open("k") as session:
        assert contents(session) == said("one", "two")
        assert (session.turns, session.next_turn, session.usage) == (2, 3, Usage(10, 2))
        assert session.activated["research"].content == "Dig deep."


def test_the_turn_of_a_run_says_which_it_was_and_other_turns_say_nothing(store: SessionStore) -> None:
    talk(store, "one")
    draft = store.open_draft("k")
    say(draft, "two")
    draft.commit("run-1")
    assert [turn.run for turn in store.read("k").turns] == ["", "run-1"]
    lines = store.read_bytes("k").splitlines()
    assert [b'"run"' in line for line in lines] == [False] * (len(lines) - 1) + [True]
    assert json.loads(lines[0])["version"] == 1  # who does not know the field reads on


def test_a_session_that_is_new_has_its_header_and_no_file_before(store: SessionStore, tmp_path: Path) -> None:
    draft = store.open_draft("k", cwd="/work")
    assert (draft.base, draft.next_turn, contents(draft)) == (0, 1, [])
    say(draft, "one")
    assert not (tmp_path / "sessions").exists()
    draft.commit("run-1")
    lines = lines_of(Path(draft.path))
    assert lines[0] == {"type": "session", "version": 1, "key": "k", "created": NOW, "cwd": "/work"}
    assert [line["type"] for line in lines[1:]] == ["message", "message", "turn"]
    assert (lines[3]["turn"], lines[3]["run"]) == (1, "run-1")
    assert [one.name for one in (tmp_path / "sessions").iterdir()] == ["k.jsonl"]
    assert lines[3]["totals"] == {"turns": 1, "messages": 2, "usage": msgspec.to_builtins(Usage(5, 1))}


def test_a_draft_that_nothing_was_added_to_leaves_no_file(store: SessionStore, tmp_path: Path) -> None:
    with store.open_draft("k") as draft:
        draft.commit("run-1")
    assert not (tmp_path / "sessions").exists()
    path = talk(store, "one")
    before = path.read_bytes()
    store.open_draft("k").commit("run-1")
    assert path.read_bytes() == before


def test_a_session_that_somebody_opened_and_left_unused_is_still_new(store: SessionStore) -> None:
    with store.open("k", cwd="/work") as session:
        draft = store.open_draft("k", cwd="/work")
        assert (Path(session.path).exists(), draft.base) == (True, 0)
    say(draft, "one")
    assert not Path(session.path).exists()
    draft.commit("run-1")
    assert now_in(store) == said("one")


def test_a_run_is_committed_once_however_often_it_is_tried(store: SessionStore) -> None:
    talk(store, "one")
    first = store.open_draft("k")
    say(first, "two")
    first.commit("run-1")
    written = Path(first.path).read_bytes()
    first.commit("run-1")
    again = store.open_draft("k", base=first.base)
    assert contents(again) == said("one")
    say(again, "two")
    again.commit("run-1")
    assert Path(first.path).read_bytes() == written
    talk(store, "three")
    again.commit("run-1")
    assert now_in(store) == said("one", "two", "three")


def test_a_draft_reads_the_same_on_the_same_base_whatever_others_added(store: SessionStore) -> None:
    talk(store, "one")
    base = store.open_draft("k").base
    talk(store, "two", "three")
    with store.open("k") as session:
        session.compact("They talked.", 0)
    draft = store.open_draft("k", base=base)
    assert (contents(draft), draft.next_turn, draft.turns) == (said("one"), 2, 1)


def test_a_turn_comes_after_those_that_others_added_meanwhile(store: SessionStore) -> None:
    talk(store, "one")
    draft = store.open_draft("k")
    say(draft, "mine")
    draft.activate("research", "Dig deep.", 2)
    talk(store, "two", "three")
    draft.commit("run-1")
    transcript = store.read("k")
    assert [(turn.turn, turn.run) for turn in transcript.turns] == [(1, ""), (2, ""), (3, ""), (4, "run-1")]
    assert [one.turn for one in transcript.skills] == [4]
    with store.open("k") as session:
        assert contents(session) == said("one", "two", "three", "mine")
        assert (session.turns, session.next_turn, session.usage) == (4, 5, Usage(20, 4))
    assert (store.get("k").turns, store.get("k").messages) == (4, 8)


def test_two_runs_on_one_base_both_find_their_place(store: SessionStore) -> None:
    drafts = [store.open_draft("k", cwd="/work") for _ in range(3)]
    for number, draft in enumerate(drafts):
        say(draft, f"run {number}")
    for number in (2, 0, 1, 0, 2):
        drafts[number].commit(f"run-{number}")
    assert now_in(store) == said("run 2", "run 0", "run 1")
    assert [(turn.turn, turn.run) for turn in store.read("k").turns] == [(1, "run-2"), (2, "run-0"), (3, "run-1")]
    assert store.read_bytes("k").count(b'"type":"session"') == 1


def test_what_is_said_after_a_turn_is_over_is_committed_with_it(store: SessionStore) -> None:
    draft = store.open_draft("k")
    say(draft, "one", "two")
    draft.append(Message("user", "by the way"), 2)
    draft.commit("run-1")
    draft.commit("run-1")
    assert now_in(store) == [*said("one", "two"), "by the way"]
    assert [(turn.turn, turn.status, turn.run) for turn in store.read("k").turns] == [
        (1, "finished", ""),
        (2, "finished", "run-1"),
    ]


def test_a_turn_that_was_broken_off_is_committed_as_failed(store: SessionStore) -> None:
    draft = store.open_draft("k")
    draft.append(Message("user", "one"), 1)
    draft.append(CALL, 1)
    draft.commit("run-1")
    draft.commit("run-1")
    (turn,) = store.read("k").turns
    assert (turn.turn, turn.status, turn.run) == (1, "failed", "run-1")
    with store.open("k") as session:
        assert (session.messages[-1].content or "").startswith("interrupted")


@pytest.mark.parametrize("file", ["gone", "shorter", "another"])
def test_a_session_that_is_not_here_is_told(store: SessionStore, file: str) -> None:
    path = talk(store, "one", "two")
    draft = store.open_draft("k")
    say(draft, "three")
    if file == "gone":
        store.remove("k")
    elif file == "shorter":
        path.write_bytes(path.read_bytes()[: draft.base - 9] + b"\n")
    else:
        path.write_bytes(path.read_bytes().replace(b"local/small", b"local/smaller"))
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(ClawftError) as caught:
        store.open_draft("k", base=draft.base)
    assert (caught.value.code, "machine" in caught.value.hint) == ("session-not-here", True)
    with pytest.raises(ClawftError) as caught:
        draft.commit("run-1")
    assert caught.value.code == "session-not-here"
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_session_of_a_later_version_gets_no_draft(store: SessionStore) -> None:
    path = talk(store, "one")
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2'))
    with pytest.raises(ClawftError) as caught:
        store.open_draft("k")
    assert caught.value.code == "format-newer"


def test_a_line_that_another_is_writing_is_not_part_of_the_base(store: SessionStore) -> None:
    path = talk(store, "one")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"message","turn":2,"message":{"role":"us')
    draft = store.open_draft("k")
    assert (draft.base, contents(draft)) == (len(whole), said("one"))
    say(draft, "two")
    draft.commit("run-1")
    assert now_in(store) == said("one", "two")


def test_a_summary_in_a_draft_gives_the_same_view_once_it_is_committed(store: SessionStore) -> None:
    talk(store, "one", "two")
    draft = store.open_draft("k")
    draft.append(Message("user", "mine"), 3)
    draft.compact("They talked.", 3)
    draft.append(CALL, 3)
    draft.append(RESULT, 3)
    draft.finish_turn(3)
    live = draft.messages
    draft.commit("run-1")
    with store.open("k") as session:
        assert session.messages == live
        assert (session.turns, session.next_turn, session.diagnostics) == (3, 4, ())
    assert draft.diagnostics == ()


def test_a_summary_of_the_base_keeps_what_others_added_too(store: SessionStore) -> None:
    talk(store, "one", "two")
    draft = store.open_draft("k")
    draft.append(Message("user", "mine"), 3)
    draft.compact("They talked.", 3)
    assert contents(draft)[1:] == [*said("two"), "mine"]
    draft.finish_turn(3)
    with store.open("k") as session:
        session.activate("research", "Dig deep.", 3)
        say(session, "three")
    draft.commit("run-1")
    with store.open("k") as session:
        summary, *rest = contents(session)
        assert "They talked." in (summary or "")
        assert rest == [*said("two", "three"), "mine"]
        assert list(session.activated) == ["research"]
        assert (session.turns, session.next_turn) == (4, 5)
    assert draft.diagnostics == ()
    assert store.get("k").messages == 7


@pytest.mark.parametrize("why", ["it covers the draft", "others made one", "a result of the base came later"])
def test_a_summary_that_would_hide_what_others_added_is_left_out(store: SessionStore, why: str) -> None:
    path = talk(store, "one", "two")
    late = why.startswith("a result")
    if late:
        with store.open("k") as session:
            session.append(CALL, 3)
    draft = store.open_draft("k")
    turn = draft.next_turn
    draft.append(Message("user", "mine"), turn)
    draft.append(Message("assistant", "first"), turn)
    draft.compact("They talked.", 1 if why.startswith("it covers") else 2)
    draft.append(Message("assistant", "second"), turn)
    draft.compact("They talked again.", 1)
    draft.finish_turn(turn)
    with store.open("k") as session:
        if late:
            session.append(RESULT, 3)
        say(session, "three")
        if why.startswith("others"):
            session.compact("Others talked.", 2)
        others = session.messages
    draft.commit("run-1")
    with store.open("k") as session:
        assert session.messages[: len(others)] == others
        assert contents(session)[len(others) :] == ["mine", "first", "second"]
    (one,) = draft.diagnostics
    assert (one.code, one.severity, one.path) == ("session-summary-left-out", "note", str(path))


WORDS = st.lists(st.sampled_from(["say", "say", "call", "sum 0", "sum 1", "sum 3", "sum 9"]), max_size=7)


def act(session: OpenSession, whose: str, words: list[str]) -> list[str]:
    """One turn, in which something is done for each word; all that was said."""
    texts, turn = [f"{whose}: begin"], session.next_turn
    session.append(Message("user", texts[0]), turn)
    for number, word in enumerate(words):
        if word.startswith("sum"):
            shown = [one or "" for one in contents(session)]
            old = max(len(shown) - int(word[4:]), shown[0].startswith("<conversation_summary>"))
            session.compact("\n".join(shown[:old]), len(shown) - old)
            continue
        texts.append(f"{whose}: {word} {number}")
        if word == "call":
            call = ToolCall(f"{whose}{number}", "t")
            session.append(Message("assistant", f"calls {texts[-1]}", (call,)), turn)
            session.append(Message("tool", texts[-1], tool_call_id=call.id, name="t"), turn)
        else:
            session.append(Message("assistant", texts[-1]), turn)
    session.finish_turn(turn)
    return texts


@given(before=st.lists(WORDS, max_size=2), mine=WORDS, meanwhile=st.lists(WORDS, max_size=2))
def test_nothing_that_was_said_is_lost_to_the_model_whoever_summarised_what(
    tmp_path_factory: pytest.TempPathFactory, before: list[list[str]], mine: list[str], meanwhile: list[list[str]]
) -> None:
    """A summary here says all that it stands for, so each text must be in what the model is shown."""
    store = SessionStore(str(tmp_path_factory.mktemp("any")))
    texts = []
    for number, words in enumerate(before):
        with store.open("k") as session:
            texts += act(session, f"before {number}", words)
    draft = store.open_draft("k")
    texts += act(draft, "mine", mine)
    for number, words in enumerate(meanwhile):
        with store.open("k") as session:
            texts += act(session, f"meanwhile {number}", words)
    draft.commit("run-1")
    turns = len(before) + len(meanwhile) + 1
    with store.open("k") as session:
        shown = "\n".join(one.content or "" for one in session.messages).splitlines()
        assert [text for text in texts if text not in shown] == []
        assert (session.turns, session.next_turn) == (turns, turns + 1)
        if not meanwhile:
            assert session.messages == draft.messages
    assert [turn.turn for turn in store.read("k").turns] == list(range(1, turns + 1))
    assert store.get("k").messages == len(store.read("k").messages)
