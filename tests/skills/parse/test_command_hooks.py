"""Claude Code's map of hooks: what of it is run, and what is said of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.parse.hooks import (
    MAX_MATCHER,
    CommandHook,
    check_commands,
    check_matcher,
    find_match,
    parse_command_hooks,
)
from clawft.skills.parse.skill import parse_skill_md


def one(event: str = "PreToolUse", matcher: Any = "", **fields: Any) -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": "true", **fields}]}]}


def codes(written: Any) -> list[str]:
    read = parse_command_hooks(written, "settings.json")
    assert not read.hooks
    return [said.code for said in read.diagnostics]


def test_a_command_is_read_with_what_is_said_of_it() -> None:
    read = parse_command_hooks(one(matcher="Bash", timeout=5), "x")
    assert read.hooks == (CommandHook("PreToolUse", "true", "Bash", 5),)
    assert (read.hooks[0].key, read.diagnostics) == ("tool:before", ())
    assert parse_command_hooks(one(), "x").hooks[0].timeout_s == 60


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (one("PreCompact"), "hook-unsupported"),
        (one("PreToolUze"), "hook-event-unknown"),
        (one(type="http", url="http://localhost"), "hook-unsupported"),
        (one(type="prompt", prompt="is it safe?"), "hook-unsupported"),
        (one(**{"if": "Bash(git:*)"}), "hook-unsupported"),
        (one("Stop", "", **{"async": True}), "hook-unsupported"),
        (one(shell="powershell"), "hook-unsupported"),
        (one(matcher="(?!x)"), "hook-matcher"),
        (one(matcher="a" * MAX_MATCHER + "."), "hook-matcher"),
        (one(matcher=7), "hook-shape"),
        (one(command=""), "hook-shape"),
        (one(type=None), "hook-shape"),
        ({"Stop": {"hooks": []}}, "hook-shape"),
        ({"Stop": ["true"]}, "hook-shape"),
        (["Stop"], "hook-shape"),
    ],
)
def test_what_is_not_run_is_said(written: Any, code: str) -> None:
    assert codes(written) == [code]


def test_events_that_never_happen_are_said_together() -> None:
    written = one("Notification") | one("PreCompact") | one("Stop")
    (said,) = parse_command_hooks(written, "x").diagnostics
    assert said.message == "Hooks for Notification, PreCompact are not run: they do not happen here"


def test_a_close_name_of_an_event_is_suggested() -> None:
    (said,) = parse_command_hooks(one("PreToolUze"), "x").diagnostics
    assert said.hint == "Did you mean 'PreToolUse'?"


@pytest.mark.parametrize(("written", "taken"), [(60_000, 600), (-1, 60), ("5", 60), (True, 60), (0.5, 0.5)])
def test_a_timeout_that_makes_no_sense_is_not_taken(written: Any, taken: float) -> None:
    read = parse_command_hooks(one(timeout=written), "x")
    assert read.hooks[0].timeout_s == taken
    assert [said.code for said in read.diagnostics] == ([] if taken == written else ["hook-shape"])


def test_once_holds_in_skills_only() -> None:
    settings = parse_command_hooks(one(once=True), "x")
    assert not settings.hooks[0].once
    assert [said.code for said in settings.diagnostics] == ["hook-unsupported"]
    assert parse_command_hooks(one(once=True), "x", of_skill=True).hooks[0].once


def test_commands_before_and_after_a_skill_are_said_not_to_run() -> None:
    text = "---\nname: x\ndescription: y\nhook-before: ./a.sh\nhook-after: ./b.sh\n---\n\nz\n"
    said = check_commands(parse_skill_md(text, "x", path="SKILL.md"), "SKILL.md")
    assert [one.message.partition(" is")[0] for one in said] == ["'hook-before'", "'hook-after'"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["PreToolUse", "hooks", "matcher", "type", "command", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_ANY)
def test_nothing_that_is_written_breaks_the_parser(written: Any) -> None:
    read = parse_command_hooks(written, "x")
    assert read.hooks or read.diagnostics or not any(written.values() if isinstance(written, dict) else [1])


@pytest.mark.parametrize(
    ("matcher", "name", "fits"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("bash", "Bash", False),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "WriteAll", False),
        ("Notebook.*", "NotebookEdit", True),
        ("^mcp__.*__write", "mcp__files__write_all", True),
        ("mcp__files", "mcp__files__write", False),
        ("mcp__files__.*", "mcp__files__write", True),
        ("(", "(", False),
    ],
)
def test_a_matcher_means_whole_names_or_what_an_expression_finds(matcher: str, name: str, fits: bool) -> None:
    assert find_match(matcher, [name]) is fits


@given(st.text(max_size=30), st.text(max_size=10))
def test_a_matcher_never_breaks(matcher: str, name: str) -> None:
    if check_matcher(matcher):
        assert not find_match(matcher, [name])
    else:
        find_match(matcher, [name])
