"""What a skill's text asks for is one step: a run that is begun again sees what it saw before."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from clawft.agent.conversation import open_conversation
from clawft.agent.loop import run_turn
from clawft.agent.run_request import TurnRequest
from clawft.agent.tools.dynamic import render_dynamic
from clawft.agent.tools.steps import StepDoubt, TurnStep, TurnSteps
from clawft.app.app import open_app
from clawft.errors import ClawftError
from clawft.skills.render.prompt import RenderedPrompt
from clawft.skills.render.template import TemplateVariables, split_arguments
from clawft.trust.permissions import CallAuthority

pytestmark = pytest.mark.anyio
R = TypeVar("R")


class Tape(TurnSteps):
    """Keeps what came of each step as JSON, and gives it back once it was rewound."""

    def __init__(self) -> None:
        self.steps: list[TurnStep] = []
        self.kept: list[bytes] = []
        self.done = 0

    def rewind(self) -> None:
        self.done = 0

    async def run(
        self,
        step: TurnStep,
        work: Callable[[], Awaitable[R]],
        result: Any,
        *,
        at: str = "",
        doubt: StepDoubt | None = None,
    ) -> R:
        if self.done == len(self.kept):
            value = msgspec.json.encode(await work())
            self.kept.append(value)
            self.steps.append(step)
        self.done += 1
        before: R = msgspec.json.decode(self.kept[self.done - 1], type=result)
        return before


class House:
    """A user with a project and one skill."""

    def __init__(self, folder: Path, body: str) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.skill = self.home / ".clawft" / "skills" / "one"
        for one in (self.skill, self.project):
            one.mkdir(parents=True)
        config = '[skills.security]\nscan_on_load = false\nallowed_command_prefixes = ["cat", "echo"]\n'
        (self.home / ".clawft" / "config.toml").write_text(config)
        self.write(body)

    def write(self, body: str) -> None:
        (self.skill / "SKILL.md").write_text(f"---\nname: one\ndescription: Does one.\n---\n\n{body}\n")

    async def use(self, steps: TurnSteps) -> RenderedPrompt:
        app = open_app({"HOME": str(self.home), "PATH": os.defpath}, str(self.project))
        async with app.open_runtime() as runtime:
            found = app.get_skill("one").found
            context = runtime.dynamic(lambda: CallAuthority(runtime.default_mode, runtime.rules), lambda: steps)
            variables = TemplateVariables("session-1", found.base_dir, str(self.project))
            return await render_dynamic(
                context, found, runtime.skills.load_usable(found), split_arguments(""), variables
            )

    def commands(self) -> list[str]:
        lines = (self.home / ".clawft" / "audit.jsonl").read_text().splitlines()
        return sorted(line["subject"] for line in map(json.loads, lines) if line["decision"] == "allowed")


BODY = "Now: !`cat ${CLAUDE_PROJECT_DIR}/state`\n!echo two\n!read state\nSee @state.txt and @gone.txt"


async def test_a_run_that_is_begun_again_sees_the_outputs_and_files_of_before(tmp_path: Path) -> None:
    house, tape = House(tmp_path, BODY), Tape()
    (house.project / "state").write_text("early")
    (house.project / "state.txt").write_text("attached early")
    first = await house.use(tape)
    assert first.text.startswith("Now: early\ntwo\nearly\n")
    assert "attached early" in first.text
    assert [one.code for one in first.diagnostics] == ["dynamic-context"]
    (house.project / "state").unlink()
    (house.project / "state.txt").write_text("attached late")
    ran = house.commands()
    tape.rewind()
    assert await house.use(tape) == first
    assert house.commands() == ran
    (step,) = tape.steps
    assert (step.kind, step.name, step.repeatable) == ("command", "one", True)
    assert step.summary == "cat ${CLAUDE_PROJECT_DIR}/state and 4 more"


async def test_a_skill_that_changed_meanwhile_is_used_as_it_is_now(tmp_path: Path) -> None:
    house, tape = House(tmp_path, "!echo early"), Tape()
    assert (await house.use(tape)).text == "early"
    house.write("More words come first.\n!echo late")
    tape.rewind()
    assert (await house.use(tape)).text == "More words come first.\nlate"


async def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    house, tape = House(tmp_path, "!read state"), Tape()
    for _ in range(2):
        tape.rewind()
        with pytest.raises(ClawftError):
            await house.use(tape)
    (house.project / "state").write_text("here now")
    tape.rewind()
    assert (await house.use(tape)).text == "here now"


async def test_a_text_that_asks_for_nothing_is_no_step(tmp_path: Path) -> None:
    tape = Tape()
    assert (await House(tmp_path, "Plain words.").use(tape)).text == "Plain words."
    assert tape.steps == []


async def test_the_commands_of_a_skill_are_steps_of_the_conversation_that_uses_it(tmp_path: Path) -> None:
    house, tape = House(tmp_path, "!echo from the skill"), Tape()
    app = open_app({"HOME": str(house.home), "PATH": os.defpath}, str(house.project))
    async with (
        app.open_runtime() as runtime,
        open_conversation(runtime, runtime.skills.find_agent("default"), key="k") as conversation,
    ):
        conversation.steps = tape  # as a run does, once the conversation is there
        async for _ in run_turn(conversation, TurnRequest("", skill="one")):
            pass
    assert "command" in {one.kind for one in tape.steps}
