"""Skills that come, go and change on disk are told of at the prompt."""

import asyncio
import shutil

import pytest

from clawft.cli.repl.notices import SkillNotices, render_change
from clawft.server.protocol.subscriptions import SkillChange, SkillsChanged
from terminal import Open
from world import World

pytestmark = pytest.mark.anyio


async def test_the_prompt_tells_which_skills_came_changed_and_went(
    world: World, terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SkillNotices, "after_s", 0.0)
    first = world.add_skill("first")
    async with terminal(columns=100) as t:
        await asyncio.wait_for(t.repl.skill_notices.following.wait(), 60)
        (first / "SKILL.md").write_text(
            "---\nname: first\ndescription: By hand.\ndisable-model-invocation: true\n---\n"
        )
        await t.wait_for("● The skill first is manual now, and was ready")
        world.add_skill("second")
        await t.wait_for("● The skill second is new: ready")
        shutil.rmtree(first)
        await t.wait_for("● The skill first is gone")


def test_many_changes_are_counted() -> None:
    some = tuple(
        SkillChange(name=f"skill-{number}", scope="user", state="ready", was_state="", path="")
        for number in range(1_200)
    )
    change = SkillsChanged(generation=2, at="", added=some, removed=some[:3])
    assert render_change(change) == ["Many skills changed on disk: 1,200 new, 3 gone. See: /skills"]
