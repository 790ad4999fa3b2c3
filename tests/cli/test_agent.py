"""`weft agent` and `weft skills run` as people and programs use them: answers, events, questions, exit codes."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script(tmp_path: Path, child_env: dict[str, str]) -> Callable[..., None]:
    """Let the default model answer from a script of these steps."""

    def write(*steps: dict[str, Any], config: str = "") -> None:
        user = Path(child_env["HOME"], ".clawft")
        user.mkdir(exist_ok=True)
        (user / "script.json").write_text(json.dumps({"steps": steps, "loop": True}))
        provider = f'[providers.s]\nwire = "scripted"\nscript = "{user}/script.json"\n'
        (user / "config.toml").write_text(f'[agents.defaults]\nmodel = "s/one"\n{config}\n{provider}')

    return write


ASK = 'mode = "ask"\n'


def use(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": arguments}]}


def events_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_answer_alone_is_on_stdout(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "Four."})
    done = weft("agent", "-m", "two and two?")
    assert (done.returncode, done.stdout) == (0, "Four.\n")
    assert "session: " in done.stderr


def test_events_are_json_lines(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "Four."})
    events = events_of(weft("agent", "-m", "two and two?", "--format", "json", "--session", "maths"))
    assert [one["event"] for one in events] == [
        "TurnStarted", "CatalogShown", "TextDelta", "UsageReported", "TurnFinished",
    ]  # fmt: skip
    assert all(list(one)[:3] == ["event", "at", "session"] and one["session"] == "maths" for one in events)
    assert events[-1]["text"] == "Four."


def test_without_a_key_the_offline_model_still_does_its_job(weft: Weft, project: Path) -> None:
    skill = project.parent / "home" / ".clawft" / "skills" / "count-files"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: count-files\ndescription: Count the files of a folder.\n---\n\n```sh\nls | wc -l\n```\n"
    )
    done = weft("agent", "-m", "count the files here")
    assert done.returncode == 0
    assert "not a language model" in done.stdout
    assert "count-files" in done.stdout
    assert "`ls | wc -l`: done" in done.stdout


def test_a_skill_that_forks_answers_on_stdout_and_names_its_session(
    weft: Weft, script: Callable[..., None], child_env: dict[str, str]
) -> None:
    skill = Path(child_env["HOME"], ".clawft", "skills", "survey")
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: survey\ndescription: Looks.\ncontext: fork\n---\n\nLook at $ARGUMENTS.\n"
    )
    script(use("list_directory", path="."), {"text": "Nothing there."})
    done = weft("skills", "run", "--session", "s", "survey", "src")
    assert (done.returncode, done.stdout) == (0, "Nothing there.\n")
    assert "· fork survey (agent default, s/one)\n· list_directory .\n" in done.stderr
    child = done.stderr.partition("weft sessions show ")[2].split()[0]
    assert child.startswith("s:fork-")
    assert "Look at src." in weft("sessions", "show", child).stdout
    assert "Look at src." not in weft("sessions", "show", "s").stdout


@pytest.mark.parametrize("message", [("-m", "-"), ()])
def test_a_message_can_come_through_a_pipe(
    project: Path, child_env: dict[str, str], script: Callable[..., None], message: tuple[str, ...]
) -> None:
    script({"text": "Heard.", "expect": "through the pipe"})
    done = subprocess.run(
        ["weft", "agent", *message], input="through the pipe", cwd=project, env=child_env,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "Heard.\n"


@pytest.mark.parametrize("message", ["", "  \n"])
def test_an_empty_message_is_wrong_usage(weft: Weft, message: str) -> None:
    done = weft("agent", "-m", message)
    assert done.returncode == 2
    assert "The message is empty" in done.stderr


def test_an_unknown_provider_is_an_error_with_a_hint(weft: Weft) -> None:
    done = weft("agent", "-m", "hi", "--model", "antropic/x")
    assert done.returncode == 1
    assert "error[provider-not-found]: No provider 'antropic'" in done.stderr
    assert "did you mean 'anthropic'?" in done.stderr


def test_an_unknown_agent_is_an_error_with_the_close_match(weft: Weft) -> None:
    done = weft("agent", "-m", "hi", "--agent", "codr")
    assert done.returncode == 1
    assert "did you mean 'coder'?" in done.stderr


def test_what_nobody_can_approve_is_refused_with_exit_3(weft: Weft, script: Callable[..., None], project: Path) -> None:
    outside = use("exec_shell", command="touch made", outside_sandbox=True)
    script(use("exec_shell", command="touch made"), outside, {"text": "It was refused."}, config=ASK)
    done = weft("agent", "-m", "make it")
    assert done.returncode == 3
    assert "Pass --yes to allow it" in done.stderr
    assert "· exec_shell touch made [outside_sandbox]\n" in done.stderr
    assert done.stdout == "It was refused.\n"
    assert not (project / "made").exists()
    log = json.loads(weft("audit", "show", "--kind", "approval", "--format", "json").stdout)
    assert [(one["decision"], one["rule"]) for one in log["lines"]] == [("denied", "nobody to ask")] * 2


def test_yes_allows_what_is_asked_for_but_not_what_is_forbidden(
    weft: Weft, script: Callable[..., None], project: Path
) -> None:
    script(
        use("exec_shell", command="touch made"),
        use("exec_shell", command="echo `id`"),
        {"text": "Done."},
        config=f"{ASK}[tools.exec]\ndenied_patterns = ['id']",
    )
    done = weft("agent", "-m", "make it", "--yes")
    assert done.returncode == 0
    assert (project / "made").exists()
    assert "✗ exec_shell echo `id`" in done.stderr


def test_a_failed_turn_has_exit_code_1_and_a_refused_budget_3(weft: Weft, script: Callable[..., None]) -> None:
    script({"error": {"message": "out of order"}})
    done = weft("agent", "-m", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "out of order" in done.stderr


def test_a_turn_that_was_stopped_before_its_answer_has_exit_code_1(weft: Weft, script: Callable[..., None]) -> None:
    script(*[use("message", text="still at it")] * 120)
    done = weft("agent", "-m", "hi")
    assert done.returncode == 1
    assert "warning[max-iterations]" in done.stderr
    assert "hint: To go on, say so: weft agent --session " in done.stderr


def test_a_person_at_a_terminal_is_asked(project: Path, child_env: dict[str, str], script: Callable[..., None]) -> None:
    script(use("exec_shell", command="touch made"), {"text": "Made."}, config=ASK)
    code, screen = _type(["weft", "agent", "-m", "make it"], project, child_env, "[y]es", b"y\n")
    assert code == 0, screen
    assert "Run: touch made" in screen
    assert "Made." in screen
    assert (project / "made").exists()


def test_a_person_may_say_no(project: Path, child_env: dict[str, str], script: Callable[..., None]) -> None:
    script(use("exec_shell", command="touch made"), {"text": "Not made."}, config=ASK)
    code, screen = _type(["weft", "agent", "-m", "make it"], project, child_env, "[y]es", b"\n")
    assert code == 0, screen
    assert not (project / "made").exists()


def test_what_was_typed_before_the_question_is_no_answer_to_it(
    project: Path, child_env: dict[str, str], script: Callable[..., None]
) -> None:
    slow = {"text": "Wait.", **use("exec_shell", command="touch made")}
    script({**slow, "delay_ms": 500}, {"text": "Not made."}, config=ASK)
    master, slave = pty.openpty()
    os.write(master, b"y\n")
    words = ["weft", "agent", "-m", "make it"]
    environment = {**child_env, "TERM": "xterm"}
    process = subprocess.Popen(words, cwd=project, env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    _read_until(master, b"[y]es")
    os.write(master, b"what\n")
    _read_until(master, b"Please answer y, r or n\r\n  [y]es")
    os.write(master, b"n\n")
    _read_until(master, b"Not made.")
    os.close(master)
    process.wait(timeout=60)
    assert not (project / "made").exists()


def _read_until(descriptor: int, text: bytes) -> None:
    screen, deadline = b"", time.monotonic() + 60
    while text not in screen and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 1)[0]:
            screen += os.read(descriptor, 65536)
    assert text in screen


def test_ctrl_c_at_a_question_ends_at_once(
    project: Path, child_env: dict[str, str], script: Callable[..., None]
) -> None:
    script(use("exec_shell", command="touch made"), {"text": "Made."}, config=ASK)
    master, slave = pty.openpty()
    environment = {**child_env, "TERM": "xterm"}
    words = ["weft", "agent", "-m", "make it"]
    process = subprocess.Popen(words, cwd=project, env=environment, stdin=slave, stdout=slave, stderr=slave)
    _read_until(master, b"[y]es")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    os.close(slave)
    os.close(master)
    assert not (project / "made").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_what_the_turn_started(
    project: Path, child_env: dict[str, str], script: Callable[..., None], number: signal.Signals
) -> None:
    os.mkfifo(project / "alive")
    pipe = os.open(project / "alive", os.O_RDONLY | os.O_NONBLOCK)
    script(use("exec_shell", command="sh -c 'exec 3>alive; echo up >&3; sleep 600'"), {"text": "Done."})
    words = ["weft", "agent", "-m", "wait", "--yes"]
    with subprocess.Popen(words, cwd=project, env=child_env, stdin=subprocess.DEVNULL) as process:
        _read_until(pipe, b"up")
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
    assert select.select([pipe], [], [], 10)[0]
    assert os.read(pipe, 1) == b""  # nobody holds the other end any more
    os.close(pipe)


def test_the_name_of_a_tool_does_not_act_on_the_terminal(
    project: Path, child_env: dict[str, str], script: Callable[..., None]
) -> None:
    script(use("\x1b]0;owned\x07\x1b[2J\u202e"), {"text": "Done."})
    _, screen = _type(["weft", "agent", "-m", "go"], project, child_env, "never", b"")
    assert "Done." in screen
    assert not any(sign in screen for sign in ("\x1b]", "\x1b[2J", "\x07", "\u202e"))


def _type(words: list[str], cwd: Path, env: dict[str, str], at: str, keys: bytes) -> tuple[int, str]:
    """Run a command on a terminal and type when a text appears."""
    master, slave = pty.openpty()
    process = subprocess.Popen(words, cwd=cwd, env={**env, "TERM": "xterm"}, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    screen, typed, deadline = b"", False, time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                screen += os.read(master, 65536)
            if not typed and at.encode() in screen:
                os.write(master, keys)
                typed = True
    except OSError:  # Linux: the command ended
        pass
    finally:
        os.close(master)
    return process.wait(timeout=60), screen.decode()


def test_ctrl_c_ends_the_turn_with_130_and_keeps_the_session(
    project: Path, child_env: dict[str, str], script: Callable[..., None], weft: Weft
) -> None:
    script({"text": "slow", "delay_ms": 60_000})
    words = ["weft", "agent", "-m", "remember this", "--session", "kept", "--format", "json"]
    with subprocess.Popen(words, cwd=project, env=child_env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "TurnStarted" in process.stdout.readline()
        process.stdout.readline()  # the catalog
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    shown = weft("sessions", "show", "kept")
    assert "remember this" in shown.stdout


def test_a_session_is_continued_by_its_key(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "One."}, {"text": "Two."})
    weft("agent", "-m", "first", "--session", "s")
    weft("agent", "-m", "second", "--session", "s")
    shown = weft("sessions", "show", "s").stdout
    assert shown.index("first") < shown.index("second")


def test_a_skill_is_run_with_arguments(weft: Weft, script: Callable[..., None], project: Path) -> None:
    skill = project / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: Greets.\n---\n\nGreet ${0}, then ${1}.\n")
    script({"text": "Hello!", "expect": "Greet Ada Lovelace, then Bob"})
    assert weft("skills", "trust", "greet", "--yes").returncode == 0
    done = weft("skills", "run", "greet", "Ada Lovelace", "Bob")
    assert (done.returncode, done.stdout) == (0, "Hello!\n")
    assert "skill greet (project)" in done.stderr
    again = weft("skills", "run", "--args", "'Ada Lovelace' Bob", "greet")
    assert again.stdout == "Hello!\n"


def test_a_skill_of_a_strangers_folder_runs_only_when_somebody_says_so(
    weft: Weft, script: Callable[..., None], tmp_path: Path
) -> None:
    for name in ("odd", "other"):
        (tmp_path / "stranger" / name).mkdir(parents=True)
        (tmp_path / "stranger" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Odd.\n---\nBe odd.\n")
    script({"text": "Odd it is."})
    refused = weft("skills", "run", "--dir", tmp_path / "stranger", "odd", "--yes")
    assert refused.returncode == 3
    assert "note: --yes is an argument of the skill here" in refused.stderr
    assert f"weft skills trust odd --dir {tmp_path / 'stranger'}. To use it once, put --yes before" in refused.stderr
    allowed = weft("skills", "run", "--dir", tmp_path / "stranger", "--yes", "--format", "json", "odd")
    assert allowed.returncode == 0
    catalog = next(one for one in events_of(allowed) if one["event"] == "CatalogShown")
    assert catalog["described"] == ["odd"]  # the others of the folder are not offered
    assert weft("skills", "trust", "odd", "--dir", tmp_path / "stranger", "--yes").returncode == 0
    assert weft("skills", "run", "--dir", tmp_path / "stranger", "odd").returncode == 0


def test_an_unknown_skill_is_an_error_with_the_close_match(weft: Weft) -> None:
    done = weft("skills", "run", "reviw-diff")
    assert done.returncode == 1
    assert "did you mean 'review-diff'?" in done.stderr


def test_use_of_skills_is_counted(weft: Weft, script: Callable[..., None]) -> None:
    script(use("Skill", name="review-diff"), {"text": "ok"})
    weft("agent", "-m", "review")
    document = json.loads(weft("skills", "stats", "--format", "json").stdout)
    counts = {one["name"]: (one["offered"], one["loaded"]) for one in document["skills"]}
    assert counts["review-diff"] == (1, 1)
    assert counts["write-skill"] == (1, 0)
    unused = weft("skills", "stats", "--unused").stdout
    assert "write-skill" in unused
    assert "review-diff" not in unused


def test_statistics_of_nothing_are_zeros(weft: Weft) -> None:
    done = weft("skills", "stats")
    assert done.returncode == 0
    assert "review-diff" in done.stdout
    assert "never" in done.stdout


def test_show_prompt_prints_what_would_be_sent_and_sends_nothing(
    weft: Weft, script: Callable[..., None], project: Path, child_env: dict[str, str]
) -> None:
    script({"text": "never said"})
    skill = project.parent / "home" / ".clawft" / "skills" / "needy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: needy\ndescription: Needs.\nmetadata: {clawft: {requires: {bins: [no-such-program]}}}\n---\nx\n"
    )
    done = weft("agent", "--show-prompt", "-m", "what now?")
    assert done.returncode == 0
    assert "=== system" in done.stdout
    assert "what now?" in done.stdout
    assert "needy: ineligible" in done.stdout
    assert "review-diff: in the catalog, with its description" in done.stdout
    document = json.loads(weft("agent", "--show-prompt", "-m", "what now?", "--format", "json").stdout)
    assert document["schema"] == "clawft.agent.prompt.v1"
    assert document["request"]["messages"][-1]["content"] == "what now?"
    assert {one["name"]: one["shown"] for one in document["skills"]}["needy"] == "not offered"
    assert not list(Path(child_env["HOME"], ".clawft", "sessions").glob("*.jsonl"))


def test_show_prompt_of_a_session_holds_its_history(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "One."})
    weft("agent", "-m", "first", "--session", "s")
    shown = weft("agent", "--show-prompt", "-m", "second", "--session", "s").stdout
    assert "first" in shown
    assert "One." in shown
    assert "second" in shown
    assert "second" not in weft("sessions", "show", "s").stdout


def test_instructions_are_approved_by_a_flag(weft: Weft, script: Callable[..., None], project: Path) -> None:
    script({"text": "ok"})
    (project / "AGENTS.md").write_text("Use tabs.\n")
    first = weft("agent", "-m", "hi")
    assert "AGENTS.md is not approved" in first.stderr
    second = weft("agent", "-m", "hi", "--trust-instructions", "--yes")
    assert "approved AGENTS.md" in second.stderr
    assert "Use tabs." in weft("agent", "--show-prompt").stdout


def test_a_broken_server_never_breaks_the_agent(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "ok"}, config='[mcp.servers.bad]\ncommand = "no-such-program"\n')
    done = weft("agent", "-m", "hi")
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "bad" in done.stderr


def test_a_strangers_project_starts_no_server_and_loosens_no_policy(
    weft: Weft, script: Callable[..., None], project: Path
) -> None:
    script(use("exec_shell", command="touch made"), {"text": "ok"}, config=ASK)
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text(
        '[mcp.servers.evil]\ncommand = "touch"\nargs = ["started"]\n[tools.exec]\nmode = "disabled"\n'
    )
    done = weft("agent", "-m", "hi")
    assert done.returncode == 3
    assert "warning[config-untrusted]" in done.stderr
    assert sorted(one.name for one in project.iterdir()) == [".clawft"]


def test_python_dash_m_is_the_same_command(
    project: Path, child_env: dict[str, str], script: Callable[..., None]
) -> None:
    script({"text": "ok"})
    words = [sys.executable, "-m", "clawft", "agent", "-m", "hi"]
    done = subprocess.run(words, cwd=project, env=child_env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "ok\n"


def test_an_agent_of_a_strangers_project_answers_only_when_it_is_approved(
    weft: Weft, script: Callable[..., None], project: Path
) -> None:
    script(*[{"text": "Hello."}] * 9)
    for name in ("default", "theirs"):
        file = project / ".claude" / "agents" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\nname: {name}\ndescription: d\n---\nYou are owned.\n")
    passed_over = weft("agent", "-m", "hi")
    assert (passed_over.returncode, passed_over.stdout) == (0, "Hello.\n")
    assert "warning[agent-untrusted]" in passed_over.stderr
    assert "You are owned." not in weft("agent", "-m", "hi", "--show-prompt").stdout
    refused = weft("agent", "-m", "hi", "--agent", "theirs")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "error[agent-untrusted]" in refused.stderr
    assert weft("agent", "-m", "hi", "--trust-instructions", "--yes").returncode == 0
    assert "You are owned." in weft("agent", "-m", "hi", "--show-prompt").stdout
    assert weft("agent", "-m", "hi", "--agent", "theirs").returncode == 0
    file.write_text(file.read_text() + "More.\n")
    assert weft("agent", "-m", "hi", "--agent", "theirs").returncode == 3


def _add_skill(child_env: dict[str, str], name: str, body: str) -> None:
    folder = Path(child_env["HOME"], ".clawft", "skills", name)
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n---\n\n{body}\n")


def test_a_message_that_names_a_skill_runs_it(
    weft: Weft, script: Callable[..., None], child_env: dict[str, str]
) -> None:
    _add_skill(child_env, "research", "Research $ARGUMENTS.")
    script({"text": "Heard: {asked}"})
    done = weft("agent", "-m", "/research the moon")
    assert "Research the moon." in done.stdout
    assert "· skill research (user)" in done.stderr


@pytest.mark.parametrize("text", ["/reserch x", "/a/b do it", "//x", "/help"])
def test_what_looks_like_a_command_is_not_sent_by_accident(
    weft: Weft, script: Callable[..., None], child_env: dict[str, str], text: str
) -> None:
    _add_skill(child_env, "research", "Research $ARGUMENTS.")
    script({"text": "Heard: {asked}"})
    done = weft("agent", "-m", text)
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert "nothing was sent" in done.stderr
    assert ("Did you mean /research?" in done.stderr) == text.startswith("/reserch")
    for sure in (f"-- {text}", f" {text}"):
        assert weft("agent", "-m", sure).stdout == f"Heard: {sure.removeprefix('-- ')}\n"


def test_a_message_that_begins_with_the_path_of_a_file_is_sent(weft: Weft, script: Callable[..., None]) -> None:
    script({"text": "Heard: {asked}"})
    assert weft("agent", "-m", "/etc/hosts is what?").stdout == "Heard: /etc/hosts is what?\n"


def test_two_dashes_end_the_options_of_a_skill_and_are_no_argument(
    weft: Weft, script: Callable[..., None], child_env: dict[str, str]
) -> None:
    _add_skill(child_env, "echo", "Said ($ARGUMENTS) first [$ARGUMENTS[0]].")
    script({"text": "{asked}"})
    done = weft("skills", "run", "echo", "--", "--yes", "b")
    assert "Said (--yes b) first [--yes]." in done.stdout
    assert "is an argument of the skill here" not in done.stderr
    assert weft("skills", "render", "echo", "--", "--yes").stdout == "Said (--yes) first [--yes].\n"
