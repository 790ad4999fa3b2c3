"""Questions of tools at the prompt: the four answers, what they last for, and what is no answer."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from clawft.cli.options import TurnOptions
from clawft.cli.repl.turn_display import ToolApprovalPrompt
from clawft.messages import ApprovalAnswer, ApprovalNeeded, Event, TextDelta
from clawft.trust.audit.log import AT_TERMINAL
from terminal import CTRL_C, CTRL_D, Open, Terminal
from wire import Reply, call, say
from world import ASKING, World

pytestmark = pytest.mark.anyio

CHOICES = "[y]es, for this [s]ession, [a]lways here, [N]o:"


@pytest.fixture(autouse=True)
def asking(world: World) -> None:
    """Everything off the list is asked about."""
    world.environ |= ASKING


def touch(name: str = "made") -> Reply:
    return call("exec_shell", {"command": f"touch {name}"})


def facts(world: World) -> list[tuple[str, str, str]]:
    """What the audit log says of questions and calls."""
    kinds = ("approval", "tool", "command", "denial")
    return [(one["kind"], one["decision"], one["rule"]) for one in world.audit() if one["kind"] in kinds]


async def ask(t: Terminal, text: str = "do it") -> None:
    await t.prompt()
    t.type(f"{text}\r")


@pytest.mark.parametrize("answer", ["y", "yes", "s", "a", "A"])
async def test_yes_in_any_form_lets_the_tool_run(world: World, terminal: Open, answer: str) -> None:
    world.replies = [touch(), say("Done.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        assert "? Run: touch made" in t.text()
        t.type(f"{answer}\r")
        await t.wait_for("Done.")
        assert (world.project / "made").exists()


@pytest.mark.parametrize("answer", ["n\r", "no\r", "\r", CTRL_D])
async def test_no_in_any_form_refuses_and_the_turn_goes_on(world: World, terminal: Open, answer: str) -> None:
    world.replies = [touch(), say("Then not.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        t.type(answer)
        await t.wait_for("Then not.")
        assert not (world.project / "made").exists()


async def test_anything_else_is_asked_again(world: World, terminal: Open) -> None:
    world.replies = [touch(), say("Done.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        t.type("maybe\r")
        await t.wait_for("Please answer y, s, a or n")
        await t.wait_for(CHOICES, 2)
        t.type("n\r")
        await t.wait_for("Done.")


async def test_ctrl_c_at_the_question_refuses_and_stops_the_turn(world: World, terminal: Open) -> None:
    world.replies = [touch(), say("Never said.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        t.type(CTRL_C)
        await t.wait_for("stopped; what came so far is kept")
        await t.prompt()
        assert not (world.project / "made").exists()
        assert len(world.server.asked) == 1
    assert facts(world) == [
        ("approval", "asked", "'touch' is not on the allow-list (tools.exec.allowed_commands)"),
        ("approval", "withdrawn", "stopped by the person at the terminal"),
    ]


@pytest.mark.parametrize(
    ("answer", "decision", "by"),
    [
        ("y\r", "allowed", "the person at the terminal"),
        ("n\r", "denied", "the person at the terminal"),
        (CTRL_D, "denied", "no answer at the terminal"),
    ],
)
async def test_the_log_tells_who_answered_and_what(
    world: World, terminal: Open, answer: str, decision: str, by: str
) -> None:
    world.replies = [touch(), say("Go on.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        t.type(answer)
        await t.wait_for("Go on.")
    assert facts(world)[1] == ("approval", decision, by)
    assert [one[0] for one in facts(world)[2:]] == (
        ["tool", "command", "tool"] if decision == "allowed" else ["denial"]
    )


async def test_once_asks_again_and_session_does_not(world: World, terminal: Open) -> None:
    world.replies = [touch(), say("First."), touch(), say("Second."), touch(), say("Third.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        t.type("y\r")
        await t.wait_for("First.")
        await ask(t)
        await t.wait_for(CHOICES, 2)
        t.type("s\r")
        await t.wait_for("Second.")
        await ask(t)
        await t.wait_for("Third.")
        assert t.text().count(CHOICES) == 2


async def test_always_lasts_beyond_the_process_and_session_does_not(world: World, terminal: Open) -> None:
    for answer, asked in (("s", True), ("a", True), ("never needed", False)):
        world.replies = [touch(), say("Done.")]
        async with terminal() as t:
            await ask(t)
            if asked:
                await t.wait_for(CHOICES)
                t.type(f"{answer}\r")
            await t.wait_for("Done.")
            assert (CHOICES in t.text()) is asked


async def test_always_is_for_the_very_same_command(world: World, terminal: Open) -> None:
    world.replies = [touch("one"), say("First."), touch("two"), say("Second.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for(CHOICES)
        t.type("a\r")
        await t.wait_for("First.")
        await ask(t)
        await t.wait_for(CHOICES, 2)
        t.type("n\r")
        await t.wait_for("Second.")
        assert not (world.project / "two").exists()


async def test_changed_skill_asks_again_after_always(world: World, terminal: Open) -> None:
    skill = world.add_skill("toucher", "Run `touch made`.")
    for change, answer in (("", "a"), ("", ""), ("And more.\n", "n")):
        with (skill / "SKILL.md").open("a") as file:
            file.write(change)
        world.replies = [touch(), say("Done.")]
        async with terminal() as t:
            await ask(t, "/toucher")
            if answer:
                await t.wait_for(CHOICES)
                t.type(f"{answer}\r")
            await t.wait_for("Done.")
            assert (CHOICES in t.text()) is bool(answer)


async def test_what_is_typed_before_the_question_is_no_answer(world: World, terminal: Open) -> None:
    world.replies = [call("exec_shell", {"command": "touch made"}, wait_s=0.3), say("Refused.")]
    async with terminal() as t:
        await ask(t)
        await t.wait_for("thinking")
        t.type("y\r")
        await t.wait_for(CHOICES)
        assert t.text().rstrip().endswith(CHOICES)
        t.type("n\r")
        await t.wait_for("Refused.")
        await t.wait_for("> y")
        assert not (world.project / "made").exists()


async def test_what_came_in_one_go_with_the_message_is_no_answer(world: World, terminal: Open) -> None:
    world.replies = [touch(), say("Refused.")]
    async with terminal() as t:
        await t.prompt()
        t.type("do it\ry\r")
        await t.wait_for(CHOICES)
        t.type("n\r")
        await t.wait_for("Refused.")
        assert not (world.project / "made").exists()


async def test_yes_asks_nothing_and_says_what_it_allowed(world: World, terminal: Open) -> None:
    world.replies = [touch(), say("Done.")]
    async with terminal(options=TurnOptions(yes=True)) as t:
        await ask(t)
        await t.wait_for("Done.")
        assert "allowed by --yes: Run: touch made" in t.text()
        assert (world.project / "made").exists()


async def test_questions_side_by_side_come_one_after_the_other(world: World, terminal: Open) -> None:
    events = [
        ApprovalNeeded(call="1", tool="fetch", question="Fetch one?\nIt is\x1b[2J far", reason="not on the list"),
        ApprovalNeeded(call="2", tool="fetch", question="Fetch two?"),
    ]
    asked: asyncio.Queue[str] = asyncio.Queue()
    answers: asyncio.Queue[str] = asyncio.Queue()

    both_asked = asyncio.Event()

    async def put(question: str) -> str:
        asked.put_nowait(question)
        return await answers.get()

    async def emit() -> AsyncGenerator[Event]:
        for one in events:
            yield one
        await both_asked.wait()
        yield TextDelta(text="Said meanwhile.")

    async with terminal() as t:
        asker = ToolApprovalPrompt(t.repl.display, put, lambda: None)
        shown = asyncio.create_task(t.repl.display.show(emit()))
        both = asyncio.gather(*(asker(one) for one in events))
        await asked.get()
        assert "Fetch two?" not in t.text()
        assert "\n  It is\ufffd[2J far\n  not on the list" in t.text()
        answers.put_nowait("y")
        await asked.get()
        both_asked.set()
        await asyncio.wait({shown}, timeout=0.1)
        assert "Fetch two?" in t.text()
        assert "Said meanwhile." not in t.text()
        answers.put_nowait("s")
        assert await both == [ApprovalAnswer("once", AT_TERMINAL), ApprovalAnswer("session", AT_TERMINAL)]
        await shown
        assert "Said meanwhile." in t.text()
