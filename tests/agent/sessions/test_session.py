"""One conversation: what is written, and what the model sees."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.sessions import SessionStore
from clawft.errors import ClawftError
from clawft.messages import Image, Message, ToolCall, Usage

USER = Message("user", "Where is the key?")
CALL = Message("assistant", None, (ToolCall("c1", "read_file", {"path": "a"}), ToolCall("c2", "list_directory")))
ANSWER = Message("assistant", "Under the mat.")


def result(call: str, text: str = "ok") -> Message:
    return Message("tool", text, tool_call_id=call, name="read_file")


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path / "home" / "sessions"), clock=lambda: 1_790_000_000.5)


def test_messages_skills_turns_and_usage_are_there_again(store: SessionStore) -> None:
    picture = Message("user", "Look", images=(Image("image/png", "aGk="),))
    said = (USER, CALL, result("c1"), result("c2"), ANSWER)
    with store.open("cli:main", cwd="/work") as session:
        assert (session.messages, session.turns, session.next_turn) == ((), 0, 1)
        for message in said:
            session.append(message, 1)
        session.activate("research", "Dig deep.", 1, scope="user", digest="sha256:1")
        session.finish_turn(1, usage=Usage(10, 2, 3, 4), model="local/small")
        session.append(picture, 2)
        session.finish_turn(2, status="failed", usage=Usage(1, 1))
    with store.open("cli:main") as again:
        assert again.messages == (*said, picture)
        assert (again.turns, again.next_turn, again.usage) == (2, 3, Usage(11, 3, 3, 4))
        skill = again.activated["research"]
        assert (skill.content, skill.scope, skill.digest, skill.turn) == ("Dig deep.", "user", "sha256:1", 1)
        assert (again.header.cwd, again.header.created) == ("/work", "2026-09-21T14:13:20.500Z")
        assert again.diagnostics == ()


def test_file_and_folder_belong_to_their_owner_alone(store: SessionStore) -> None:
    with store.open("a_b") as session:
        session.append(USER, 1)
        path = Path(session.path)
    assert path.name == "a%5Fb.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    path.parent.chmod(0o755)
    with store.open("a_b"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_first_line_tells_of_the_session_and_each_line_of_one_thing(store: SessionStore) -> None:
    with store.open("k", cwd="/work") as session:
        session.append(USER, 1)
        session.finish_turn(1)
        lines = [json.loads(line) for line in Path(session.path).read_text().splitlines()]
    at = "2026-09-21T14:13:20.500Z"
    assert lines[0] == {"type": "session", "version": 1, "key": "k", "created": at, "cwd": "/work"}
    assert lines[1] == {
        "type": "message",
        "turn": 1,
        "at": at,
        "message": {"role": "user", "content": "Where is the key?"},
    }
    assert (lines[2]["type"], lines[2]["turn"], lines[2]["status"]) == ("turn", 1, "finished")
    assert (lines[2]["totals"]["turns"], lines[2]["totals"]["messages"]) == (1, 1)


def test_session_that_nothing_was_written_to_leaves_no_file(store: SessionStore) -> None:
    with store.open("k") as session:
        path = Path(session.path)
        assert path.exists()
    assert not path.exists()
    session.close()


def test_summary_stands_for_old_messages_and_skills_stay(store: SessionStore) -> None:
    with store.open("k") as session:
        for turn in (1, 2, 3):
            session.append(Message("user", f"question {turn}"), turn)
            session.append(Message("assistant", f"answer {turn}"), turn)
            session.activate(f"skill-{turn}", f"text {turn}", turn)
            session.finish_turn(turn, usage=Usage(1))
        session.compact("They talked.", 2)
        live = session.messages
    assert [one.content for one in live] == [
        "<conversation_summary>\nThey talked.\n</conversation_summary>",
        "question 3",
        "answer 3",
    ]
    with store.open("k") as again:
        assert again.messages == live
        assert sorted(again.activated) == ["skill-1", "skill-2", "skill-3"]
        assert (again.turns, again.next_turn, again.usage) == (3, 4, Usage(3))
        again.append(USER, 4)
        again.compact("They talked more.", 0)
        assert len(again.messages) == 1
        again.compact("Nothing is left to keep.", 5)
        assert len(again.messages) == 1
    with store.open("k") as third:
        assert [one.content for one in third.messages] == [
            "<conversation_summary>\nNothing is left to keep.\n</conversation_summary>"
        ]
        assert third.activated["skill-1"].content == "text 1"
        third.finish_turn(4)
    assert len(store.read("k").messages) == 7
    assert store.get("k").messages == 7


def test_compaction_never_parts_a_result_from_its_call(store: SessionStore) -> None:
    with store.open("k") as session:
        for message in (USER, CALL, result("c1"), result("c2")):
            session.append(message, 1)
        session.compact("Summary", 1)
        live = session.messages
    assert live[1:] == (CALL, result("c1"), result("c2"))
    with store.open("k") as again:
        assert again.messages == live


def test_compaction_keeps_as_many_as_were_seen(store: SessionStore) -> None:
    """Results without a call are on record but not seen; made up results are seen but not on record."""
    orphans = (result("x1"), result("x2"))
    with store.open("k") as session:
        for message in (USER, ANSWER, *orphans, CALL):
            session.append(message, 1)
        assert len(session.messages) == 5
        session.compact("Summary", 4)
        assert session.messages[1:3] == (ANSWER, CALL)
        assert len(session.messages) == 5


def test_compacted_end_of_a_big_session_is_enough(store: SessionStore) -> None:
    """The kept messages and the compaction lie across the borders of what is read at once."""
    big = Message("user", "x" * 150_000)
    with store.open("k") as session:
        for turn in range(1, 31):
            session.append(big, turn)
            session.append(ANSWER, turn)
            if turn == 15:
                session.activate("early", "text", turn)
                session.compact("Summary", 9)
            session.finish_turn(turn, usage=Usage(1))
        live, path = session.messages, Path(session.path)
    assert len(live) == 1 + 9 + 30
    with store.open("k") as again:
        assert again.messages == live
        assert (again.turns, again.usage, list(again.activated)) == (30, Usage(30), ["early"])
    text = path.read_bytes().replace(b'{"type":"compaction",', b'{"type":"compaction",,')
    path.write_bytes(text)
    with store.open("k") as whole:
        assert len(whole.messages) == 60
        assert [(one.code, one.line) for one in whole.diagnostics] == [("session-damaged-line", 47)]


def test_call_without_result_gets_one_that_says_interrupted(store: SessionStore) -> None:
    with store.open("k") as session:
        session.append(USER, 1)
        session.append(CALL, 1)
        session.append(result("c1"), 1)
    with store.open("k") as again:
        *_, made_up = again.messages
        assert again.messages[:3] == (USER, CALL, result("c1"))
        assert (made_up.role, made_up.tool_call_id, made_up.name, made_up.is_error) == (
            "tool", "c2", "list_directory", True,
        )  # fmt: skip
        assert (made_up.content or "").startswith("interrupted")
        again.append(USER, again.next_turn)
        assert again.messages[3:] == (made_up, USER)
    assert len(store.read("k").messages) == 4


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        pytest.param((USER, result("c9"), ANSWER), (USER, ANSWER), id="result without a call"),
        pytest.param(
            (CALL, result("c1"), USER, result("c2")), (CALL, result("c1"), result("c2"), USER), id="a word in between"
        ),
        pytest.param(
            (CALL, result("c2"), result("c1"), result("c1", "again")),
            (CALL, result("c2"), result("c1")),
            id="a result twice",
        ),
    ],
)
def test_every_call_is_followed_by_its_results(
    store: SessionStore, written: tuple[Message, ...], seen: tuple[Message, ...]
) -> None:
    with store.open("k") as session:
        for message in written:
            session.append(message, 1)
        assert session.messages == seen


@given(
    st.lists(
        st.one_of(st.just(USER), st.just(CALL), st.just(ANSWER), st.sampled_from(["c1", "c2", "c3"]).map(result)),
        max_size=12,
    )
)
def test_any_log_gives_a_conversation_that_providers_accept(
    tmp_path_factory: pytest.TempPathFactory, written: list[Message]
) -> None:
    with SessionStore(str(tmp_path_factory.mktemp("any"))).open("k") as session:
        for message in written:
            session.append(message, 1)
        waiting: list[str] = []
        for message in session.messages:
            if message.role == "tool":
                waiting.remove(message.tool_call_id)
            else:
                assert waiting == []
                waiting = [call.id for call in message.tool_calls]
        assert waiting == []
        spoken = [one for one in session.messages if one.role != "tool"]
        assert len(spoken) == sum(one.role != "tool" for one in written)


ODD = {
    "\ud83d\ude00": "😀",
    "half \ud83d": "half \ufffd",
    "\udfff": "\ufffd",
    "\0\x1b[2J\u2028\u202e": "\0\x1b[2J\u2028\u202e",
    "\ufeffx": "\ufeffx",
    "a\r\nb": "a\r\nb",
    "\uffff𐀀": "\uffff𐀀",
}


@pytest.mark.parametrize(("text", "kept"), list(ODD.items()), ids=range(len(ODD)))
def test_odd_text_is_written_and_read(store: SessionStore, text: str, kept: str) -> None:
    with store.open("k") as session:
        session.append(Message("user", text), 1)
        session.append(Message("assistant", None, (ToolCall("c", "t", {"a": [text]}),)), 1)
        session.finish_turn(1)
    with store.open("k") as again:
        assert again.messages[0].content == kept
        assert again.messages[1].tool_calls[0].arguments == {"a": [kept]}
        assert again.diagnostics == ()


def test_arguments_that_json_lacks_do_not_fail_the_turn(store: SessionStore) -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    arguments = {"set": object, "deep": deep, "big": 10**30, "nan": float("nan"), "keys": {(1, 2): "x"}}
    with store.open("k") as session:
        session.append(Message("assistant", "t", (ToolCall("c", "t", arguments),)), 1)
    with store.open("k") as again:
        kept = again.messages[0].tool_calls[0].arguments
        assert (kept["big"], kept["nan"], kept["keys"]) == (10**30, None, {"(1, 2)": "x"})
        assert again.diagnostics == ()


FULL = """
import resource, sys
from clawft.errors import ClawftError
from clawft.messages import Message
from clawft.agent.sessions import SessionStore
with SessionStore(sys.argv[1]).open("k") as session:
    session.append(Message("user", "kept"), 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    for length in (200_000, 150_000):
        try:
            session.append(Message("assistant", "x" * length), 1)
        except ClawftError as error:
            print(error.code)
    session.append(Message("assistant", "short"), 1)
    session.finish_turn(1)
    print([one.content for one in session.messages])
"""


def test_message_that_finds_no_room_leaves_whole_lines_only(store: SessionStore, child_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, store.folder], env=child_env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split("\n") == ["session-write", "session-write", "['kept', 'short']", ""], done.stderr
    with store.open("k") as again:
        assert [one.content for one in again.messages] == ["kept", "short"]
        assert (again.turns, again.diagnostics) == (1, ())


def test_turn_of_a_file_that_was_removed_is_not_called_safe(store: SessionStore) -> None:
    with store.open("k") as session:
        session.append(USER, 1)
        os.unlink(session.path)
        with pytest.raises(ClawftError, match="The file was removed") as caught:
            session.finish_turn(1)
    assert caught.value.code == "session-write"


def talk(store: SessionStore, turns: int) -> None:
    with store.open("k") as session:
        for _ in range(turns):
            turn = session.next_turn
            session.append(Message("user", f"question {turn}"), turn)
            session.append(Message("assistant", f"answer {turn}"), turn)
            session.finish_turn(turn, usage=Usage(1, 1))


def seen(store: SessionStore) -> list[str]:
    with store.open("k") as session:
        return [message.content or "" for message in session.messages]


def test_a_rewound_session_goes_on_from_an_earlier_turn_and_back(store: SessionStore) -> None:
    talk(store, 3)
    with store.open("k") as session:
        session.rewind(1, 3, "went back")
        assert session.next_turn == 4
        assert [message.content for message in session.messages] == ["question 1", "answer 1", "went back"]
    assert seen(store) == ["question 1", "answer 1", "went back"]
    with store.open("k") as session:
        session.rewind(0, 1, "to the start")
    assert seen(store) == ["to the start"]
    assert store.read("k").redoable == (3, 1)
    with store.open("k") as session:
        session.rewind(3, 3, "forth", redo=True)
    three = [text for turn in (1, 2, 3) for text in (f"question {turn}", f"answer {turn}")]
    assert seen(store) == [*three, "forth"]
    assert len(store.read("k").messages) == 6  # nothing of it was ever removed
    talk(store, 1)
    assert seen(store)[-2:] == ["question 4", "answer 4"]
    assert store.read("k").redoable == ()
    with store.open("k") as session:
        assert (session.turns, session.usage) == (4, Usage(4, 4))


def test_a_rewind_goes_back_over_a_summary_and_a_summary_over_a_rewind(store: SessionStore) -> None:
    talk(store, 4)
    with store.open("k") as session:
        session.compact("all of it", keep=2)
    talk(store, 1)
    with store.open("k") as session:
        session.rewind(2, 5, "back")
    assert seen(store) == ["question 1", "answer 1", "question 2", "answer 2", "back"]
    talk(store, 1)
    with store.open("k") as session:
        session.compact("short", keep=4)
        expected = [message.content for message in session.messages]
    assert expected[1:] == ["answer 2", "back", "question 6", "answer 6"]
    assert seen(store) == expected
    store.fork("k", "copy")
    with store.open("copy") as copy:
        assert [message.content for message in copy.messages] == expected


def test_the_end_of_a_turn_that_was_killed_can_be_gone_back_to(store: SessionStore) -> None:
    talk(store, 1)
    with store.open("k") as session:
        session.append(Message("user", "cut short"), 2)
    talk(store, 1)
    with store.open("k") as session:
        session.rewind(2, 3, "back")
    assert seen(store) == ["question 1", "answer 1", "cut short", "back"]
