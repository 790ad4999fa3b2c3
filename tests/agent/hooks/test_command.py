"""Command hooks of Claude Code's kind, in turns: what they hear, and what comes of what they answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawft.messages import ApprovalNeeded, Event, MessageSent, Noticed, ToolFinished, TurnFailed, TurnFinished
from wire import Reply, call, say
from world import Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio


def hook(world: World, event: str, command: str, matcher: str = "", **more: Any) -> None:
    """Add a command to the user's own settings of Claude Code."""
    path = world.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    settings = json.loads(path.read_text()) if path.exists() else {"hooks": {}}
    entry = {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}
    settings["hooks"].setdefault(event, []).append(entry)
    path.write_text(json.dumps(settings))


def script(world: World, name: str, text: str) -> str:
    """A script of the user's, as a line names it."""
    path = world.home / ".claude" / "hooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"~/.claude/hooks/{name}"


def answer(world: World, **said: Any) -> str:
    """A line that prints a JSON answer."""
    (world.project / "answer.json").write_text(json.dumps(said))
    return "cat answer.json"


def noticed(events: list[Event]) -> list[str]:
    return [f"{one.code}: {one.message}" for one in only(events, Noticed) if one.code.startswith("hook")]


def last_result(world: World) -> str:
    return str([one for one in world.sent()["messages"] if one["role"] == "tool"][-1]["content"])


async def test_a_hook_hears_of_a_call_in_the_words_of_claude_code(world: World) -> None:
    hook(world, "PreToolUse", "cat > before.json", "Write")
    hook(world, "PostToolUse", "cat > after.json", "Edit|Write")
    world.replies = [call("write_file", {"path": "a/note.txt", "content": "x"}), say("done")]
    await world.run()
    before = json.loads((world.project / "before.json").read_text())
    note = str(world.project / "a" / "note.txt")
    assert before == {
        "session_id": "test",
        "transcript_path": "",
        "cwd": str(world.project),
        "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"path": "a/note.txt", "file_path": note, "content": "x"},
        "tool_use_id": "call_1",
    }
    after = json.loads((world.project / "after.json").read_text())
    assert (after["hook_event_name"], after["tool_name"]) == ("PostToolUse", "Write")
    assert (after["tool_response"]["filePath"], after["tool_response"]["success"]) == (note, True)


async def test_exit_code_2_refuses_a_command_and_the_model_reads_why(world: World) -> None:
    hook(world, "PreToolUse", script(world, "guard.sh", 'echo "not on a Sunday" >&2; exit 2'), "Bash")
    world.replies = [call("exec_shell", {"command": "echo hello"}), say("sorry")]
    events = await world.run()
    said = "PERMISSION_DENIED: Not allowed: the hook 'claude-user': not on a Sunday"
    assert error_of(only(events, ToolFinished)[0]) == said
    assert "not on a Sunday" in last_result(world)


async def test_a_deny_in_json_refuses_a_call_too(world: World) -> None:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "keep off"}
    hook(world, "PreToolUse", answer(world, hookSpecificOutput=said, systemMessage="I said no"), "Write")
    world.replies = [call("write_file", {"path": "x", "content": ""}), say("sorry")]
    events = await world.run()
    assert error_of(only(events, ToolFinished)[0]).endswith("keep off")
    assert [(one.hook, one.text) for one in only(events, MessageSent)] == [("claude-user", "I said no")]
    assert not (world.project / "x").exists()


async def test_an_ask_asks_the_person(world: World) -> None:
    said = {"permissionDecision": "ask", "permissionDecisionReason": "is that wise?"}
    hook(world, "PreToolUse", answer(world, hookSpecificOutput=said), "Write")
    world.replies = [call("write_file", {"path": "x", "content": ""}), say("done")]
    person = Person("no")
    await world.run(approve=person)
    assert [one.reason for one in person.asked] == ["the hook 'claude-user': is that wise?"]
    assert not (world.project / "x").exists()


async def test_an_allow_allows_nothing_and_that_is_said_once(world: World) -> None:
    world.config = '[permissions]\nask = ["write_file"]\n'
    said = {"permissionDecision": "allow", "updatedInput": {"path": "y", "content": ""}}
    hook(world, "PreToolUse", answer(world, hookSpecificOutput=said), "Write")
    world.replies = [*(call("write_file", {"path": name, "content": ""}) for name in ("x", "z")), say("sorry")]
    events = await world.run(approve=Person("no"))
    assert len(only(events, ApprovalNeeded)) == 2
    assert not any((world.project / name).exists() for name in "xyz")
    told = [one.text.partition(".")[0] for one in only(events, MessageSent)]
    assert told == ["Not followed: permissionDecision allow", "Not followed: updatedInput"]


async def test_a_formatter_changes_what_was_written(world: World) -> None:
    hook(world, "PostToolUse", "jq -r .tool_input.file_path | xargs sed -i s/teh/the/", "Write|Edit")
    world.replies = [call("write_file", {"path": "note.txt", "content": "teh end"}), say("done")]
    events = await world.run()
    assert noticed(events) == []
    assert (world.project / "note.txt").read_text() == "the end"


async def test_what_a_hook_has_against_a_finished_call_is_for_the_model(world: World) -> None:
    hook(world, "PostToolUse", script(world, "lint.sh", "echo 'line 1 is too long' >&2; exit 2"), "Write")
    world.replies = [call("write_file", {"path": "note.txt", "content": "x"}), say("done")]
    await world.run()
    assert '<hook name="claude-user">\nline 1 is too long\n</hook>' in last_result(world)


async def test_a_call_that_failed_is_not_told_as_done(world: World) -> None:
    hook(world, "PostToolUse", "cat > after.json")
    world.replies = [call("read_file", {"path": "missing.txt"}), say("done")]
    await world.run()
    assert not (world.project / "after.json").exists()


async def test_what_a_hook_prints_at_a_prompt_is_added_to_it(world: World) -> None:
    hook(world, "UserPromptSubmit", "jq -r '\"asked: \" + .prompt'")
    world.replies = [say("done")]
    await world.run("where am I?")
    assert "asked: where am I?" in str(world.sent()["messages"][-1])


async def test_a_hook_refuses_a_prompt_and_no_model_reads_it(world: World) -> None:
    hook(world, "UserPromptSubmit", answer(world, decision="block", reason="that is a secret"))
    world.replies = [say("done")]
    events = await world.run()
    (failed,) = only(events, TurnFailed)
    assert (failed.code, failed.exit_code) == ("hook-blocked", 3)
    assert failed.message == "The hook 'claude-user' refused the message: that is a secret"
    assert world.server.asked == []


async def test_what_a_hook_prints_when_a_session_starts_reaches_the_prompt(world: World) -> None:
    hook(world, "SessionStart", "echo the build is broken", "startup")
    hook(world, "SessionStart", "echo welcome back", "resume")
    world.replies = [say("done"), say("done"), say("done")]
    async with world.talk() as conversation:
        await collect(conversation, "hello")
        await collect(conversation, "again")
        prompts = [one.body["messages"][0]["content"] for one in world.server.asked]
    assert ["the build is broken" in one for one in prompts] == [True, True]
    async with world.talk() as conversation:
        await collect(conversation, "and later")
        prompt = world.sent()["messages"][0]["content"]
    assert "welcome back" in prompt
    assert "the build is broken" not in prompt


async def test_a_hook_has_the_agent_go_on_and_not_for_ever(world: World) -> None:
    hook(world, "Stop", script(world, "stop.sh", "cat >> stops.json; echo 'the tests fail' >&2; exit 2"))
    world.replies = lambda _: say("done")
    events = await world.run()
    assert len(world.server.asked) == 4
    assert "the tests fail" in str(world.sent()["messages"][-1])
    stops = (world.project / "stops.json").read_text().replace("}{", "}\n{").splitlines()
    assert [json.loads(one)["stop_hook_active"] for one in stops] == [False, True, True, True]
    assert only(events, TurnFinished)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("sleep 60", "hook-timeout"),
        ("yes", "hook-flooded"),
        ("echo oh dear >&2; exit 1", "hook-failed"),
        ("no-such-program", "hook-failed"),
        ("echo '{\"decision\": 17}'", "hook-result"),
        ("echo '{nonsense'", "hook-result"),
    ],
)
async def test_a_hook_that_fails_is_told_and_the_call_is_made(world: World, command: str, code: str) -> None:
    hook(world, "PreToolUse", command, timeout=0.3 if code == "hook-timeout" else 120)
    world.replies = [call("write_file", {"path": "x", "content": "done"}), say("done")]
    events = await world.run()
    assert [one.partition(":")[0] for one in noticed(events)] == [code]
    assert "'claude-user' failed at tool:before: `" in noticed(events)[0]
    assert (world.project / "x").read_text() == "done"


async def test_a_script_that_is_not_there_is_told_with_where_it_may_be(world: World) -> None:
    hook(world, "PreToolUse", "~/.claude/hooks/gone.sh", "Write")
    world.replies = [call("write_file", {"path": "x", "content": ""}), say("done")]
    (told,) = only(await world.run(), Noticed)
    assert "`~/.claude/hooks/gone.sh` was not found" in told.message
    assert "a file of the project? Of the home, commands see ~/.claude/hooks" in told.hint


async def test_what_the_sandbox_keeps_a_hook_from_is_no_refusal(world: World) -> None:
    hook(world, "PreToolUse", "jq -r .tool_input.path >> ~/.claude/log.txt", "Write")
    world.replies = [call("write_file", {"path": "x", "content": ""}), say("done")]
    events = await world.run()
    (told,) = (one for one in only(events, Noticed) if one.code == "hook-failed")
    assert told.hint.startswith(
        "It runs in a sandbox. To let it reach more: permissions in [hooks.entries.claude-user]"
    )
    assert (world.project / "x").exists()


async def test_what_the_config_grants_a_hook_can_reach(world: World) -> None:
    world.config = (
        '[hooks.entries.claude-user]\npermissions = { write = ["~/.claude/logs"] }\nenv = { GREETING = "hi" }\n'
    )
    (world.home / ".claude" / "logs").mkdir(parents=True)
    hook(world, "UserPromptSubmit", "echo $GREETING >> ~/.claude/logs/log.txt")
    world.replies = [say("done")]
    assert noticed(await world.run()) == []
    assert (world.home / ".claude" / "logs" / "log.txt").read_text() == "hi\n"


async def test_a_guard_that_is_set_to_refuse_when_it_fails_does(world: World) -> None:
    world.config = '[hooks.entries.claude-user]\non_failure = "deny"\n'
    hook(world, "PreToolUse", "exit 1")
    world.replies = [call("write_file", {"path": "x", "content": "done"}), say("done")]
    await world.run()
    assert not (world.project / "x").exists()


async def test_a_script_in_a_hook_is_run_by_the_shell(world: World) -> None:
    text = 'name=$(jq -r .tool_input.path)\nif [ "$name" = x ]; then\n  echo "not $name" >&2\n  exit 2\nfi\n'
    hook(world, "PreToolUse", text, "Write")
    world.replies = [*(call("write_file", {"path": name, "content": ""}) for name in "xy"), say("done")]
    events = await world.run()
    assert error_of(only(events, ToolFinished)[0]).endswith("the hook 'claude-user': not x")
    assert [(world.project / name).exists() for name in "xy"] == [False, True]


async def test_the_same_command_runs_once_for_an_event_and_others_beside_it(world: World) -> None:
    for matcher in ("Write", "*", "Edit|Write"):
        hook(world, "PreToolUse", "echo once >> ran.txt", matcher)
    hook(world, "PreToolUse", "echo other >> other.txt", "^W")
    hook(world, "PreToolUse", "echo never >> never.txt", "Writ")
    world.replies = [call("write_file", {"path": "x", "content": ""}), say("done")]
    await world.run()
    assert (world.project / "ran.txt").read_text() == "once\n"
    assert (world.project / "other.txt").read_text() == "other\n"
    assert not (world.project / "never.txt").exists()


async def test_what_is_not_run_is_told_and_the_rest_is_run(world: World) -> None:
    hook(world, "PreCompact", "true")
    hook(world, "PreToolUse", "true", "(?=x)")
    hook(world, "PreToolUse", "x=$(cat); sudo \u200btrue", "Write")
    hook(world, "PreToolUse", "curl example.com", "Write", **{"async": True})
    hook(world, "UserPromptSubmit", "echo still here")
    world.replies = [say("done"), say("done")]
    async with world.talk() as conversation:
        events = await collect(conversation, "hello")
        again = await collect(conversation, "hello")
    told = [one for one in noticed(events) if not one.startswith("hook-added")]
    assert [one.partition(":")[0] for one in told] == [
        "hook-unsupported",
        "hook-matcher",
        "hook-unsupported",
        "hook-command",
    ]
    assert "it has characters that do not show" in told[-1]
    assert "still here" in str(world.sent()["messages"])
    assert [one for one in noticed(again) if not one.startswith("hook-added")] == []


async def test_what_a_rule_denies_no_hook_runs(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Bash(touch:*)"]\n'
    hook(world, "UserPromptSubmit", "touch made.txt")
    world.replies = [say("done")]
    events = await world.run()
    assert [one.partition(":")[0] for one in noticed(events)] == ["hook-command"]
    assert not (world.project / "made.txt").exists()


async def test_in_plan_mode_a_hook_reads_the_project_and_changes_nothing(world: World) -> None:
    world.config = ""
    world.provider = ""
    (world.project / "note.txt").write_text("forty-two")
    hook(world, "UserPromptSubmit", script(world, "try.sh", "cat note.txt; echo more > note.txt; exit 0"))
    world.replies = [say("done")]
    async with world.talk() as conversation:
        from clawft.trust.modes import Mode

        conversation.set_mode(Mode.PLAN, "test")
        await collect(conversation, "hello")
    assert "forty-two" in str(world.sent()["messages"][-1])
    assert (world.project / "note.txt").read_text() == "forty-two"


async def test_in_plan_mode_a_hook_sees_no_secret_of_a_folder_that_it_may_write(world: World) -> None:
    logs = world.home / "logs"
    logs.mkdir()
    (logs / "note.txt").write_text("forty-two")
    (logs / ".env").write_text("s3cret")
    world.config = '[hooks.entries.claude-user]\npermissions = { write = ["~/logs"] }\n'
    world.provider = ""
    hook(world, "UserPromptSubmit", script(world, "try.sh", f"cat {logs}/note.txt {logs}/.env; exit 0"))
    world.replies = [say("done")]
    async with world.talk() as conversation:
        from clawft.trust.modes import Mode

        conversation.set_mode(Mode.PLAN, "test")
        await collect(conversation, "hello")
    said = str(world.sent()["messages"][-1])
    assert "forty-two" in said
    assert "s3cret" not in said


async def test_the_script_of_a_user_runs_from_their_own_folder(world: World) -> None:
    folder = world.home / ".claude" / "hooks"
    folder.mkdir(parents=True)
    (folder / "lib.sh").write_text("echo from home\n")
    (folder / "hello.sh").write_text("#!/bin/sh\n. ~/.claude/hooks/lib.sh\n")
    (folder / "hello.sh").chmod(0o755)
    hook(world, "UserPromptSubmit", "~/.claude/hooks/hello.sh")
    world.replies = [say("done")]
    await world.run()
    assert "from home" in str(world.sent()["messages"][-1])


async def test_hooks_can_be_turned_off(world: World) -> None:
    world.config = "[hooks]\nclaude = false\n"
    hook(world, "UserPromptSubmit", "echo here")
    world.replies = [say("done")]
    await world.run()
    assert "here" not in str(world.sent()["messages"][-1])


def write_skill(world: World, hooks: dict[str, Any]) -> Path:
    return world.add_skill("careful", "Take care.", head=f"hooks: {json.dumps(hooks)}\n")


async def test_the_hooks_of_a_skill_act_from_when_it_is_loaded_and_after_a_resume(world: World) -> None:
    guard = {"type": "command", "command": "./guard.sh"}
    folder = write_skill(world, {"PreToolUse": [{"matcher": "Write", "hooks": [guard]}]})
    (folder / "guard.sh").write_text('#!/bin/sh\necho "careful: $(basename "$CLAUDE_SKILL_DIR")" >&2\nexit 2\n')
    (folder / "guard.sh").chmod(0o755)
    write = [call("write_file", {"path": name, "content": ""}) for name in "abc"]
    world.replies = [write[0], call("Skill", {"name": "careful"}), write[1], say("done")]
    await world.run()
    assert [(world.project / name).exists() for name in "ab"] == [True, False]
    assert "careful: careful" in str(world.sent()["messages"])
    world.replies = [write[2], say("done")]
    await world.run("again")
    assert not (world.project / "c").exists()


async def test_what_is_not_run_of_a_skill_is_told_once_it_is_loaded(world: World) -> None:
    write_skill(world, {"PreCompact": [{"hooks": [{"type": "command", "command": "true"}]}]})
    world.replies = [say("done"), call("Skill", {"name": "careful"}), say("done"), say("done")]
    async with world.talk() as conversation:
        told = [noticed(await collect(conversation, "hello")) for _ in range(3)]
    assert [len(one) for one in told] == [0, 1, 0]
    assert "Hooks for PreCompact are not run" in told[1][0]


async def test_a_hook_of_a_skill_that_runs_once_does(world: World) -> None:
    once = {"type": "command", "command": "echo ran >> ran.txt", "once": True}
    write_skill(world, {"PostToolUse": [{"matcher": "Read", "hooks": [once]}]})
    (world.project / "note.txt").write_text("x")
    read = call("read_file", {"path": "note.txt"})
    world.replies = [call("Skill", {"name": "careful"}), read, read, say("done"), read, say("done")]
    async with world.talk() as conversation:
        await collect(conversation, "hello")
        await collect(conversation, "again")
    assert (world.project / "ran.txt").read_text() == "ran\n"


async def test_a_skill_of_a_fork_is_still_guarded_there(world: World) -> None:
    guard = {"type": "command", "command": "exit 2"}
    write_skill(world, {"PreToolUse": [{"matcher": "Write", "hooks": [guard]}]})
    write = Reply(calls=(("w", "write_file", '{"path": "x", "content": ""}'),))
    fork = [call("delegate", {"task": "write x", "target": "local"}), write, say("forked"), say("done")]
    world.replies = [call("Skill", {"name": "careful"}), *fork, *fork]
    async with world.talk(approve=Person()) as conversation:
        await collect(conversation, "hello")
        assert len(world.server.asked) == 5
        await collect(conversation, "again")  # the skill restricts nothing any more, and its hooks still hold
    assert len(world.server.asked) == 9
    assert not (world.project / "x").exists()
