"""What a person sees of a turn, event by event."""

from collections.abc import AsyncGenerator

import pytest

from clawft.cli.repl.turn_display import MAX_UNFOLDED, TurnDisplay
from clawft.messages import (
    Compacted,
    Event,
    MessageSent,
    Noticed,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
)
from terminal import CTRL_O, Open, Terminal

pytestmark = pytest.mark.anyio


def finished(call: str, status: str = "success", **result: object) -> ToolFinished:
    return ToolFinished(call=call, tool="exec_shell", status=status, result=result)  # type: ignore[arg-type]


async def show(t: Terminal, *events: Event) -> TurnDisplay:
    async def emit() -> AsyncGenerator[Event]:
        for event in events:
            yield event

    await t.repl.display.show(emit())
    return t.repl.display


async def test_notices_and_errors_have_code_and_hint(terminal: Open) -> None:
    async with terminal() as t:
        await show(
            t,
            Noticed(code="retry", message="Trying\nagain", severity="note"),
            Noticed(code="cut", message="It was cut", severity="warning", hint="Raise it"),
            TurnFailed(code="no-key", message="There is no key", hint="Set one"),
        )
        assert "note[retry]: Trying again\nwarning[cut]: It was cut\n  hint: Raise it" in t.text()
        assert "error[no-key]: There is no key\n  hint: Set one" in t.text()


async def test_tool_tells_its_failure_exit_code_or_long_time(terminal: Open) -> None:
    async with terminal() as t:
        t.screen.print()
        await show(
            t,
            ToolStarted(call="1", tool="exec_shell", summary="make\nall"),
            finished("1", data={"exit_code": 2}),
            ToolStarted(call="2", tool="exec_shell", summary="sleep"),
            finished("2", stats={"time_ms": 2_500}),
            ToolStarted(call="3", tool="exec_shell", summary="true"),
            finished("3", stats={"time_ms": 3}),
            ToolStarted(call="4", tool="exec_shell", summary="rm"),
            finished("4", "error", error={"message": "not allowed"}),
        )
        lines = [line for line in t.lines() if line.startswith(("·", "  "))]
        assert lines == [
            "· exec_shell make all", "  ✗ exit code 2", "· exec_shell sleep", "  ✓ 2.5 s",
            "· exec_shell true", "· exec_shell rm", "  ✗ not allowed",
        ]  # fmt: skip


async def test_opened_results_are_bounded_and_clean(terminal: Open) -> None:
    async with terminal() as t:
        display = await show(
            t,
            ToolStarted(call="1", tool="exec_shell", summary="cat"),
            finished("1", text="\x1b[31mred" + "x" * MAX_UNFOLDED),
            ToolStarted(call="2", tool="exec_shell", summary="true"),
            finished("2", text=""),
        )
        display.unfold()
        assert "\x1b[31mred" not in t.raw()
        assert f"… ({MAX_UNFOLDED + 8} characters)" in t.text()
        assert "▼ exec_shell true\n  (nothing)" in t.text()


async def test_nothing_to_open_is_said(terminal: Open) -> None:
    async with terminal() as t:
        t.type(CTRL_O)
        await t.wait_for("There is nothing to open")
        await t.prompt()


async def test_word_from_the_agent_and_a_summary_are_shown(terminal: Open) -> None:
    async with terminal() as t:
        await show(
            t,
            MessageSent(text="Still at it"),
            Compacted(tokens_before=900, tokens_after=90),
            TextDelta(text="Half"),
            TurnFinished(text="Half", stop="cancelled"),
        )
        assert "» Still at it" in t.text()
        assert "older turns were summarised: 900 tokens became 90" in t.text()
        assert "Half\nstopped; what came so far is kept" in t.text()


async def test_escape_codes_of_a_model_never_reach_the_terminal(terminal: Open) -> None:
    async with terminal(colour=False) as t:
        before = len(t.raw())
        await show(t, TextDelta(text="a\x1b]0;title\x07b\x1b[2J"), Noticed(code="x", message="\x1b[2J"))
        assert "\x1b]" not in t.raw()[before:]
        assert "\x1b[2J" not in t.raw()[before:]
