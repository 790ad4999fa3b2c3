"""Claude Code's words: what a hook reads, and what its answer means."""

import json
from typing import Any

import pytest

from clawft.agent.hooks.claude import list_tool_names, make_input, name_tool, read_output
from clawft.agent.hooks.events import HookEvent, HookFailed, HookReply


def told(name: str, **context: Any) -> dict[str, Any]:
    event = HookEvent("tool", "before", "s", context, mode="plan")
    return make_input(event, name, "/p", "/home/me")


def test_tools_have_the_names_of_claude_code() -> None:
    assert [name_tool(one) for one in ("exec_shell", "delegate", "files__read", "skill_read")] == [
        "Bash",
        "Task",
        "mcp__files__read",
        "skill_read",
    ]
    assert {"Edit", "MultiEdit", "edit_file"} <= set(list_tool_names("edit_file"))
    assert list_tool_names("files__read") == ("mcp__files__read", "files__read")


def test_arguments_are_there_under_both_names() -> None:
    edit = {"path": "~/a", "old_string": "x", "new_string": "y"}
    assert told("PreToolUse", toolName="edit_file", params=edit)["tool_input"] == edit | {"file_path": "/home/me/a"}
    shell = told("PreToolUse", toolName="exec_shell", params={"command": "ls", "timeout_s": 2})
    assert shell["tool_input"] == {"command": "ls", "timeout_s": 2, "timeout": 2000}
    assert shell["permission_mode"] == "plan"


@pytest.mark.parametrize("params", [None, [1], {"path": 7}, {"path": "a\0b"}])
def test_whatever_a_model_sent_is_told(params: Any) -> None:
    assert "file_path" not in told("PreToolUse", toolName="read_file", params=params)["tool_input"]


def answer(name: str, **said: Any) -> HookReply:
    reply = read_output(name, 0, json.dumps(said), "").reply
    return HookReply(messages=reply.messages, added=reply.added, blocked=reply.blocked, asks=reply.asks)


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("PreToolUse", HookReply(blocked="why")),
        ("PostToolUse", HookReply(added="why")),
        ("UserPromptSubmit", HookReply(blocked="why")),
        ("SessionStart", HookReply(messages=("why",))),
        ("Stop", HookReply(blocked="why")),
    ],
)
def test_a_no_is_what_it_can_be_at_each_event(name: str, reply: HookReply) -> None:
    assert read_output(name, 2, "", "why\n").reply == reply
    assert answer(name, decision="block", reason="why") == reply


def test_a_hook_that_wants_all_to_stop_refuses_where_it_can_and_is_told_elsewhere() -> None:
    wish = {"continue": False, "stopReason": "enough"}
    assert answer("PreToolUse", **wish) == HookReply(blocked="enough")
    assert answer("Stop", **wish) == HookReply(messages=("It asks to stop here: enough",))


def test_context_is_for_the_model_and_a_message_for_the_person() -> None:
    said = {"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}
    assert answer("PostToolUse", hookSpecificOutput=said, systemMessage="hi") == HookReply(
        messages=("hi",), added="mind the gap"
    )


@pytest.mark.parametrize(("name", "added"), [("UserPromptSubmit", "text"), ("SessionStart", "text"), ("Stop", "")])
def test_plain_output_is_context_only_where_a_prompt_is_made(name: str, added: str) -> None:
    assert read_output(name, 0, "text\n", "").reply.added == added


def test_an_allow_is_not_followed_and_known() -> None:
    said = {"permissionDecision": "allow", "updatedInput": {"x": 1}}
    answered = read_output("PreToolUse", 0, json.dumps({"hookSpecificOutput": said}), "")
    assert answered.reply.blocked is None
    assert answered.unfollowed == ("permissionDecision allow", "updatedInput")


@pytest.mark.parametrize("output", ["{", "{}{}", '{"decision": {}}', "[" * 5 + "{", '{"a":' * 100_000])
def test_nonsense_is_a_failure_or_just_text(output: str) -> None:
    if output.startswith("{"):
        with pytest.raises(HookFailed, match="not understood"):
            read_output("Stop", 0, output, "")
    else:
        assert read_output("Stop", 0, output, "").reply.blocked is None
