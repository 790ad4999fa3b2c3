"""`/skills`, `/skills NAME`, `/skill NAME`, `/why NAME`."""

from collections.abc import Awaitable, Callable

import pytest

from clawft.app.app import open_app
from terminal import Open, Terminal
from wire import say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]
NOT_FOUND = "Skill 'reserch' not found. Run /skills to see available skills."


async def test_skills_are_listed_with_their_states(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("research", description="Deep research.")
    world.add_skill("needy", head="requires:\n  bins: [no-such-program]\n")
    folder = world.user_dir / "skills/odd"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: odd\nnever ends\n")
    async with terminal(columns=100, lines=50) as t:
        shown = await enter(t, "/skills")
        rows = [line.split() for line in shown.split("\n")]
        assert ["✓", "research", "Deep", "research.", "ready", "user", "SKILL.md"] in rows
        assert any(row[:2] == ["✗", "odd"] and "broken" in row for row in rows)
        assert any(row[:2] == ["✗", "needy"] and "ineligible" in row for row in rows)
        assert shown.split("\n")[-1].startswith("7 skills: 5 ready, 1 ineligible, 1 broken")


async def test_narrow_screen_lists_skills_too(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("research", description="Deep research.")
    async with terminal(columns=40, lines=50) as t:
        lines = (await enter(t, "/skills")).split("\n")
        assert "   └ Deep research." in lines
        assert all(len(line) <= 40 for line in lines)


async def test_skill_is_shown_whole(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("research", "Look up $ARGUMENTS.", "Deep research.", "version: 1.2.0\nallowed-tools: read_file\n")
    async with terminal(columns=100) as t:
        shown = await enter(t, "/skills research")
        for line in ("Skill: research", "Description: Deep research.", "Version: 1.2.0", "Allowed Tools: read_file"):
            assert line in shown.split("\n")


@pytest.mark.parametrize("command", ["/skills", "/skill", "/why"])
async def test_unknown_skill_gets_the_same_words_everywhere(
    world: World, terminal: Open, enter: Enter, command: str
) -> None:
    world.add_skill("research")
    async with terminal() as t:
        assert await enter(t, f"{command} reserch") == f"{NOT_FOUND}\n  hint: did you mean 'research'?"
        assert await enter(t, f"{command} zzz") == NOT_FOUND.replace("reserch", "zzz")


async def test_name_is_needed(terminal: Open, enter: Enter) -> None:
    async with terminal() as t:
        assert (await enter(t, "/skill")).startswith("Usage: /skill <name> [args].")
        assert (await enter(t, "/why")).startswith("Usage: /why <name>.")


async def test_why_tells_the_reasons(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("needy", head="requires:\n  bins: [no-such-program]\n")
    async with terminal(columns=100) as t:
        shown = await enter(t, "/why needy")
        assert shown.startswith("needy is ineligible: ")
        assert "a model is not told of it" in shown
        assert "no-such-program" in shown


async def test_shadowed_skill_is_told_and_started_by_its_scope(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("same", "The user's.")
    folder = world.project / ".clawft/skills/same"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: same\ndescription: The project's.\n---\n\nOther text.\n")
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(app.get_skill("project:same").found)])
    world.replies = [say("Ran.")]
    async with terminal(columns=100) as t:
        shown = await enter(t, "/why same")
        assert "same is ready" in shown
        assert "same is shadowed" in shown
        assert (await enter(t, "/why user:same")).startswith("same is shadowed")
        await enter(t, "/skill user:same")
        assert "The user's." in world.sent()["messages"][-1]["content"]


async def test_text_of_a_stranger_does_not_reach_the_terminal(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("evil", description='"Nice \\e[2J\\e]0;owned\\a text"')
    async with terminal(columns=100) as t:
        await enter(t, "/skills")
        await enter(t, "/skills evil")
        await enter(t, "/why evil")
        assert "\x1b]0;" not in t.raw()
        assert "\x1b[2J" not in t.raw()
