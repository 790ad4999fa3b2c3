"""Events in words: short where all went well, and safe whatever a model or a tool says."""

import pytest

from clawft.cli.events import render_event, render_tool_end, render_tool_start
from clawft.messages import (
    Compacted,
    ForkActed,
    ForkFinished,
    ForkStarted,
    MessageSent,
    SkillActivated,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)


def test_what_happens_on_the_way_is_one_line_and_text_is_none() -> None:
    assert render_event(SkillActivated(name="a", scope="user")) == "· skill a (user)"
    assert render_event(MessageSent(text="half\x1b[2Jway")) == "» half\ufffd[2Jway"
    assert (
        render_event(Compacted(tokens_before=10, tokens_after=5)) == "· older turns were summarised: 10 tokens became 5"
    )
    assert render_event(TextDelta(text="x")) == ""


def test_a_fork_is_told_when_it_begins_and_with_what_it_took_when_it_ends() -> None:
    begun = ForkStarted(child="a:fork-1", skill="survey\x1b[A", agent="explore", model="local/m")
    assert render_event(begun) == "· fork survey\ufffd[A (agent explore, local/m)"
    assert render_event(ForkActed(child="a:fork-1", tool="grep", summary="a\nb")) == "grep a b"
    done = ForkFinished(child="a:fork-1", skill="survey", status="done", usage=Usage(1200, 34), calls=1, time_ms=2340)
    assert render_event(done) == "✓ fork survey: 1 tool call, 1,234 tokens, 2.3 s; weft sessions show a:fork-1"
    stopped = ForkFinished(child="a:task-1", status="max_iterations", calls=2)
    assert render_event(stopped).startswith(
        "✗ fork for a delegated task: max iterations: 2 tool calls, 0 tokens, 0.0 s;"
    )


def test_a_made_up_tool_name_moves_no_cursor() -> None:
    assert render_tool_start(ToolStarted(call="1", tool="ls\x1b[A", summary="a\nb")) == "ls\ufffd[A a b"


@pytest.mark.parametrize(
    ("status", "result", "told"),
    [
        ("success", {"stats": {"time_ms": 10}}, None),
        ("success", {"stats": {"time_ms": 2_500}}, (False, "2.5 s")),
        ("success", {"data": {"session": "a:fork-1"}, "stats": {"time_ms": 2_500}}, None),
        ("partial", {"data": {"exit_code": 2}}, (True, "exit code 2")),
        ("partial", {"data": {"exit_code": 2, "hindered": "refused: x"}}, (True, "exit code 2 (refused: x)")),
        ("error", {"error": {"message": "not\nthere"}}, (True, "not there")),
    ],
)
def test_how_a_tool_ended_is_told_only_if_it_matters(
    status: str, result: dict[str, object], told: tuple[bool, str] | None
) -> None:
    assert render_tool_end(ToolFinished(call="1", tool="t", status=status, result=result)) == told  # type: ignore[arg-type]
