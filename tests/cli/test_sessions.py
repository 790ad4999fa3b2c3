"""`weft sessions list`, `show`, `export`, `fork` and `remove`."""

import json
import os
import pty
import select
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.agent.sessions import SessionStore
from clawft.messages import Message, ToolCall, Usage

Weft = Callable[..., subprocess.CompletedProcess[str]]
EVIL = "\x1b[2J\x9b\u202eevil"


@pytest.fixture
def store(child_env: dict[str, str]) -> SessionStore:
    """The sessions of the user that `weft` runs for."""
    return SessionStore(str(Path(child_env["HOME"]) / ".clawft" / "sessions"))


def talk(store: SessionStore, key: str, question: str, age_s: int = 0) -> Path:
    with store.open(key, cwd="/work") as session:
        call = ToolCall("c1", "exec_shell", {"command": "ls"})
        session.append(Message("user", question), 1)
        session.activate("files", "How to list.", 1, scope="user", digest="sha256:1")
        session.append(Message("assistant", None, (call,)), 1)
        session.append(Message("tool", "a.txt", tool_call_id="c1", name="exec_shell"), 1)
        session.append(Message("assistant", "There is a.txt"), 1)
        session.finish_turn(1, usage=Usage(100, 20), model="local/small")
        path = Path(session.path)
    at = path.stat().st_mtime - age_s
    os.utime(path, (at, at))
    return path


def test_list_shows_key_title_and_turns_newest_first(weft: Weft, store: SessionStore) -> None:
    talk(store, "telegram:user_1", "Find the invoice\nplease", age_s=60)
    talk(store, "cli", "List it")
    done = weft("sessions", "list")
    assert done.returncode == 0
    rows = [line.split("  ") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["KEY", "cli", "telegram:user_1"]
    assert "Find the invoice" in done.stdout
    assert "please" not in done.stdout
    assert done.stderr == "2 sessions\n"
    one = weft("sessions", "list", "--limit", "1")
    assert (len(one.stdout.splitlines()), one.stderr) == (2, "1 session, 1 more with --limit 2\n")


def test_list_leaves_out_forks_unless_they_are_asked_for(weft: Weft, store: SessionStore) -> None:
    for key in ("cli", "cli:fork-1a2b3c", "cli:task-1a2b3c:fork-1a2b3d", "telegram:fork"):
        talk(store, key, "List it")
    plain, whole = weft("sessions", "list"), weft("sessions", "list", "--forks")
    assert {line.split()[0] for line in plain.stdout.splitlines()} == {"KEY", "cli", "telegram:fork"}
    assert (plain.stderr, whole.stderr) == ("2 sessions\n", "4 sessions\n")


def test_list_without_sessions_says_how_to_start(weft: Weft, store: SessionStore) -> None:
    done = weft("sessions", "list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "No sessions yet. Run: weft agent\n")
    assert not Path(store.folder).exists()


def test_json_of_the_list(weft: Weft, store: SessionStore) -> None:
    path = talk(store, "telegram:user_1", f"Find {EVIL}")
    document = json.loads(weft("sessions", "list", "--format", "json").stdout)
    assert document["schema"] == "clawft.sessions.list.v1"
    (one,) = document["sessions"]
    expected = {"key": "telegram:user_1", "path": str(path), "turns": 1, "messages": 4, "title": f"Find {EVIL}"}
    assert {name: one[name] for name in expected} == expected
    assert one.keys() == {*expected, "created", "updated", "bytes", "cwd"}
    assert document["diagnostics"] == []


def test_list_searches_what_was_said(weft: Weft, store: SessionStore) -> None:
    talk(store, "a", "Find the invoice")
    talk(store, "b", "Water the plants")
    done = weft("sessions", "list", "--search", "INVOICE")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["KEY", "a", "└"]
    assert "└ turn 1, user: Find the invoice" in done.stdout
    assert done.stderr == "1 of 2 sessions hold 'INVOICE'\n"
    (one,) = json.loads(weft("sessions", "list", "--search", "plants", "--format", "json").stdout)["sessions"]
    assert one["matches"] == [{"turn": 1, "role": "user", "snippet": "Water the plants"}]
    none = weft("sessions", "list", "--search", "nowhere")
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "No session holds 'nowhere'\n")
    assert weft("sessions", "list", "--search", " ").returncode == 2


def test_legacy_names_are_migrated_and_told(weft: Weft, store: SessionStore) -> None:
    Path(store.folder).mkdir(parents=True)
    (Path(store.folder) / "telegram_user_123.jsonl").write_text('{"role":"user","content":"Hello"}\n')
    done = weft("sessions", "list")
    assert "telegram:user_123" in done.stdout
    assert "note[session-migrated]: Renamed to telegram%3Auser%5F123.jsonl" in done.stderr
    assert "session-migrated" not in weft("sessions", "list").stderr


def test_show_prints_the_conversation(weft: Weft, store: SessionStore) -> None:
    talk(store, "telegram:user_1", "List it")
    with store.open("telegram:user_1") as session:
        session.compact("They listed files.", 0)
    done = weft("sessions", "show", "tele")
    assert (done.returncode, done.stderr) == (0, "")
    started = store.get("telegram:user_1").created
    assert done.stdout == (
        f"Session: telegram:user_1\nStarted: {started}\nFolder: /work\nTurns: 1\nMessages: 4\n"
        "Models: local/small\nTokens: 100 in, 20 out\n"
        "\nuser\nList it\n"
        "\n-- skill files was loaded --\n"
        '\nassistant\n-> exec_shell {"command":"ls"}\n'
        "\ntool exec_shell\na.txt\n"
        "\nassistant\nThere is a.txt\n"
        "\n-- turn 1 finished, local/small, 100 tokens in, 20 out --\n"
        "\n-- 4 earlier messages were summarised --\nThey listed files.\n"
    )


def test_json_of_show(weft: Weft, store: SessionStore) -> None:
    path = talk(store, "cli", "List it")
    document = json.loads(weft("sessions", "show", "cli", "--format", "json").stdout)
    assert document["schema"] == "clawft.sessions.show.v1"
    assert (document["key"], document["path"], document["cwd"]) == ("cli", str(path), "/work")
    first, second, *_ = document["messages"]
    assert (first["turn"], first["role"], first["content"], first["tool_calls"]) == (1, "user", "List it", [])
    assert second["tool_calls"] == [{"id": "c1", "name": "exec_shell", "arguments": {"command": "ls"}}]
    (turn,) = document["turns"]
    assert (turn["turn"], turn["status"], turn["model"], turn["usage"]["input_tokens"]) == (
        1, "finished", "local/small", 100,
    )  # fmt: skip
    (skill,) = document["skills"]
    assert (skill["name"], skill["scope"], skill["digest"]) == ("files", "user", "sha256:1")
    assert document["usage"]["output_tokens"] == 20


def test_unknown_session_gets_the_close_match(weft: Weft, store: SessionStore) -> None:
    talk(store, "telegram:anna", "hello")
    for words in (("show",), ("export",), ("remove", "--yes")):
        done = weft("sessions", *words, "telegram:ana")
        assert done.returncode == 1
        assert done.stderr == (
            "error[session-not-found]: No session 'telegram:ana'\n"
            "hint: did you mean 'telegram:anna'? Run: weft sessions list\n"
        )


def test_ambiguous_start_of_a_key_names_the_candidates(weft: Weft, store: SessionStore) -> None:
    talk(store, "ab", "x")
    talk(store, "ac", "x")
    done = weft("sessions", "show", "a")
    assert done.returncode == 1
    assert "error[session-ambiguous]" in done.stderr
    assert "hint: Say which: ab, ac" in done.stderr


def test_hostile_text_does_not_reach_the_terminal(
    weft: Weft, terminal: Callable[..., tuple[int, str]], store: SessionStore
) -> None:
    with store.open(f"k{EVIL}", cwd=EVIL) as session:
        session.append(Message("user", EVIL), 1)
        session.append(Message("assistant", EVIL, (ToolCall(EVIL, EVIL, {EVIL: EVIL}),)), 1)
        session.append(Message("tool", EVIL, tool_call_id=EVIL, name=EVIL), 1)
        session.activate(EVIL, EVIL, 1)
        session.finish_turn(1, model=EVIL)
        session.compact(EVIL, 0)
        with open(session.path, "ab") as file:
            file.write(b'{"type":"\\u001b[2J\\u009b"}\n')
    said = [weft("sessions", *words) for words in (("list",), ("list", "--search", "evil"), ("show", "k"))]
    texts = [one.stdout + one.stderr for one in said]
    for kind in ("md", "html", "jsonl"):
        code, text = terminal("sessions", "export", "k", "--to", kind, NO_COLOR="1")
        assert code == 0
        texts.append(text)
    for text in texts:
        assert "evil" in text
        assert not set("\x1b\x9b\u202e") & set(text)


def test_damaged_session_is_shown_with_a_word_on_it(weft: Weft, store: SessionStore) -> None:
    path = talk(store, "cli", "List it")
    path.write_bytes(path.read_bytes() + b"not json\n")
    done = weft("sessions", "show", "cli")
    assert "There is a.txt" in done.stdout
    assert "cli.jsonl:8: warning[session-damaged-line]" in done.stderr


@pytest.mark.parametrize(("kind", "start"), [("md", "# Session cli\n"), ("html", "<!doctype html>\n")])
def test_export_prints_a_document(weft: Weft, store: SessionStore, kind: str, start: str) -> None:
    talk(store, "cli", "List it")
    done = weft("sessions", "export", "cli", "--to", kind)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(start)
    assert "There is a.txt" in done.stdout


def test_export_of_lines_is_the_file_as_it_is(weft: Weft, store: SessionStore) -> None:
    path = talk(store, "cli", "List it é")
    assert weft("sessions", "export", "cli", "--to", "jsonl").stdout == path.read_text("utf-8")


def test_export_to_a_file_overwrites_only_when_forced(weft: Weft, store: SessionStore, project: Path) -> None:
    talk(store, "cli", "List it")
    done = weft("sessions", "export", "cli", "--output", "out.md")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Written to out.md\n")
    file = project / "out.md"
    text = file.read_text()
    assert text.startswith("# Session cli\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("mine")
    again = weft("sessions", "export", "cli", "--output", "out.md")
    assert again.returncode == 3
    assert "error[file-exists]" in again.stderr
    assert "--force" in again.stderr
    assert file.read_text() == "mine"
    assert weft("sessions", "export", "cli", "--output", "out.md", "--force").returncode == 0
    assert file.read_text() == text
    lost = weft("sessions", "export", "cli", "--output", "no/such/out.md")
    assert lost.returncode == 1
    assert "error[not-written]" in lost.stderr


def test_fork_copies_the_first_turns_under_a_new_key(weft: Weft, store: SessionStore) -> None:
    talk(store, "first:way", "List it")
    with store.open("first:way") as session:
        session.append(Message("user", "Now sort it"), 2)
        session.finish_turn(2)
    done = weft("sessions", "fork", "first", "other", "--turns", "1")
    told = "Copied 1 turn of first:way to other. Go on with: weft agent --session other\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, told, "")
    assert [one.content for one in store.read("other").messages if one.role == "user"] == ["List it"]
    document = json.loads(weft("sessions", "fork", "first:way", "whole", "--format", "json").stdout)
    assert document == {
        "schema": "clawft.sessions.fork.v1",
        "key": "whole",
        "forked_from": "first:way",
        "turns": 2,
        "path": store.get("whole").path,
        "diagnostics": [],
    }
    assert store.read("whole").header.forked_from == "first:way"
    assert store.get("first:way").turns == 2


def test_fork_refuses_a_key_that_is_taken_and_one_that_is_not_there(weft: Weft, store: SessionStore) -> None:
    talk(store, "a", "x")
    talk(store, "b", "y")
    taken = weft("sessions", "fork", "a", "b")
    assert (taken.returncode, "error[session-exists]" in taken.stderr) == (1, True)
    assert weft("sessions", "fork", "c", "d").returncode == 1
    assert weft("sessions", "fork", "a", "d", "--turns", "0").returncode == 2
    assert sorted(store.keys()) == ["a", "b"]


def test_remove_without_a_terminal_needs_yes(weft: Weft, store: SessionStore) -> None:
    talk(store, "a", "x")
    talk(store, "b", "x")
    refused = weft("sessions", "remove", "a")
    assert refused.returncode == 3
    assert "error[needs-yes]" in refused.stderr
    assert "hint: Pass --yes" in refused.stderr
    done = weft("sessions", "remove", "a", "b", "a", "--yes")
    assert (done.returncode, done.stderr) == (0, "Removed: a, b\n")
    assert store.keys() == ()


def test_remove_takes_whole_keys_only(weft: Weft, store: SessionStore) -> None:
    talk(store, "abc", "x")
    assert weft("sessions", "remove", "ab", "--yes").returncode == 1
    assert weft("sessions", "remove", "abc", "abd", "--yes").returncode == 1
    assert store.keys() == ("abc",)


def test_session_in_use_is_not_removed(weft: Weft, store: SessionStore) -> None:
    talk(store, "a", "x")
    talk(store, "b", "x")
    with store.open("a"):
        done = weft("sessions", "remove", "a", "b", "--yes", "--format", "json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["removed"]) == (1, "clawft.sessions.remove.v1", ["b"])
    assert [one["code"] for one in document["diagnostics"]] == ["session-busy"]


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, ()), (b"n\n", 1, ("cli",)), (b"\n", 1, ("cli",))])
def test_remove_asks_on_a_terminal(
    store: SessionStore, project: Path, child_env: dict[str, str], answer: bytes, code: int, left: tuple[str, ...]
) -> None:
    talk(store, "cli", "List it")
    master, slave = pty.openpty()
    words = ["weft", "sessions", "remove", "cli"]
    with subprocess.Popen(words, cwd=project, env=child_env, stdin=slave, stdout=slave, stderr=slave) as child:
        os.close(slave)
        got = b""
        while b"for good?" not in got and select.select([master], [], [], 60)[0]:
            got += os.read(master, 4096)
        assert b"cli: 1 turn, List it" in got
        os.write(master, answer)
        assert child.wait(60) == code
    os.close(master)
    assert store.keys() == left
