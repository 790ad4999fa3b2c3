"""`/trust`, and a stranger's skill that is started at the prompt."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clawft.agent.mcp.offered_skills import place_skill
from clawft.app.app import open_app
from clawft.skills.discovery.mcp_copies import McpSkillOrigin
from skilled_server import SkilledServer, make_skill_md
from terminal import CTRL_C, Open, Terminal
from wire import say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]
CHOICES = "[a]lways as it is now, for this [s]ession, [N]o:"


def state(world: World, name: str = "guest") -> str:
    return open_app(world.environ, str(world.project)).get_skill(name).state


@pytest.mark.parametrize(("answer", "lasting"), [("a", "ready"), ("s", "untrusted")])
async def test_a_strangers_skill_that_is_started_is_shown_and_asked_for(
    world: World, terminal: Open, answer: str, lasting: str
) -> None:
    world.add_skill("guest", "Fetch it:\n\n```sh\ncurl https://api.example.org/x\n```", strangers=True)
    world.replies = [say("Hello from it.")]
    async with terminal(columns=100) as t:
        await t.prompt()
        t.type("/guest\r")
        await t.wait_for(CHOICES)
        assert "Would use: network api.example.org; programs curl" in t.text()
        t.type(f"{answer}\r")
        await t.wait_for("Hello from it.")
    assert state(world) == lasting


@pytest.mark.parametrize("answer", ["n\r", "\r", CTRL_C])
async def test_any_other_answer_leaves_it_untrusted_and_runs_nothing(world: World, terminal: Open, answer: str) -> None:
    world.add_skill("guest", strangers=True)
    async with terminal() as t:
        await t.prompt()
        t.type("/guest\r")
        await t.wait_for(CHOICES)
        t.type(answer)
        await t.wait_for("stays untrusted" if answer != CTRL_C else "stopped")
        await t.prompt()
        assert "Unknown command" not in t.text()
        assert not world.server.asked
    assert state(world) == "untrusted"


async def test_a_skill_that_nobody_can_start_leads_to_the_reason(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("off", strangers=True)
    world.config = "[skills.entries.off]\nenabled = false\n"
    async with terminal(columns=100) as t:
        assert await enter(t, "/off") == "The skill off is disabled, so nobody can start it. See: /why off"
        assert await enter(t, "/trust off") == "Nothing called off waits for an approval. See: /why off"


async def test_a_yes_that_does_not_say_for_how_long_is_asked_again(world: World, terminal: Open) -> None:
    world.add_skill("guest", strangers=True)
    async with terminal() as t:
        await t.prompt()
        t.type("/trust guest\r")
        await t.wait_for(CHOICES)
        t.type("y\r")
        await t.wait_for("Please answer a, s or n")
        await t.wait_for(CHOICES, 2)
        t.type("a\r")
        await t.wait_for("guest is approved as it is now")
    assert state(world) == "ready"


async def test_skills_that_wait_are_listed_and_approved_one_by_one(world: World, terminal: Open, enter: Enter) -> None:
    world.add_skill("first", strangers=True)
    world.add_skill("second", strangers=True)
    async with terminal(columns=100) as t:
        listed = await enter(t, "/trust")
        assert "first: It comes with the project and is not approved" in listed
        t.type("/trust --all\r")
        await t.wait_for(CHOICES)
        t.type("a\r")
        await t.wait_for(CHOICES, 2)
        t.type("n\r")
        await t.wait_for("second stays untrusted")
        assert await enter(t, "/trust zzz") == "Nothing called zzz waits for an approval"
    assert (state(world, "first"), state(world, "second")) == ("ready", "untrusted")


async def test_a_skill_that_changed_shows_what_changed_before_it_is_used(
    world: World, terminal: Open, enter: Enter
) -> None:
    folder = world.add_skill("guest", strangers=True)
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(app.get_skill("guest").found)])
    with (folder / "SKILL.md").open("a") as file:
        file.write("Then:\n\n```sh\nnc new.example.net 443\n```\n")
    async with terminal(columns=100) as t:
        t.type("/trust guest\r")
        await t.wait_for(CHOICES)
        assert "+nc new.example.net 443" in t.text()
        assert "New since" in t.text()
        t.type("\r")
        await t.wait_for("stays untrusted")


async def test_what_is_kept_back_is_said_at_the_first_turn_only(world: World, terminal: Open) -> None:
    world.add_skill("guest", strangers=True)
    world.replies = [say("One."), say("Two.")]
    async with terminal(columns=100) as t:
        await t.prompt()
        t.type("hello\r")
        await t.wait_for("One.")
        await t.prompt()
        t.type("again\r")
        await t.wait_for("Two.")
        assert t.text().count("Not approved, so not offered: guest") == 1


async def test_a_skill_of_an_mcp_server_goes_by_the_servers_name_and_is_not_approved_here(
    world: World, terminal: Open, tmp_path: Path
) -> None:
    server, files = SkilledServer(tmp_path / "server"), {"SKILL.md": make_skill_md("notes")}
    server.serve(("skill://notes", files))
    world.config = f"[mcp.servers.docs]\ncommand = {json.dumps(server.command)}\nargs = {json.dumps(server.args)}\n"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "SKILL.md").write_text(files["SKILL.md"])
    place_skill(str(world.user_dir), McpSkillOrigin("docs", "skill://notes/SKILL.md"), str(tmp_path / "notes"))
    world.replies = [say("Hello from it.")]
    async with terminal(columns=100) as t:
        await t.prompt()
        t.type("/docs:notes\r")
        await t.wait_for("error[skill-mcp]")
        await t.wait_for("weft mcp trust docs:notes")
        app = open_app(world.environ, str(world.project))
        app.reviewer.approve([app.reviewer.review(app.get_skill("docs:notes").found)])
        await t.prompt()
        t.type("/docs:notes\r")
        await t.wait_for("Hello from it.")
    sent = json.dumps(world.server.asked[0].body)
    assert "- notes: (from the MCP server 'docs') Does notes" in sent
    assert json.dumps('<skill_content name="notes" origin="mcp:docs skill://notes/SKILL.md">')[1:-1] in sent


async def test_a_slash_alone_asks_about_no_skill(world: World, terminal: Open) -> None:
    world.add_skill("guest", strangers=True)
    async with terminal(columns=100) as t:
        await t.prompt()
        t.type("/\r")
        await t.wait_for("/help lists the commands")
        assert CHOICES not in t.text()
    assert state(world) == "untrusted"
