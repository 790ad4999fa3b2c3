"""Skills of MCP servers in turns: told by their origin, and given up in the very turn that sees them change."""

import json
from pathlib import Path

import pytest

from clawft.agent.mcp.offered_skills import place_skill
from clawft.app.app import open_app
from clawft.messages import Noticed, ToolFinished
from clawft.skills.discovery.mcp_copies import McpSkillOrigin
from skilled_server import SkilledServer, make_skill_md
from wire import call, say
from world import World, collect, error_of, only

pytestmark = pytest.mark.anyio
ROOT = "skill://acme/notes"
FILES = {"SKILL.md": make_skill_md("notes", "BODY OF NOTES"), "more.md": "MORE"}


@pytest.fixture
def server(world: World, tmp_path: Path) -> SkilledServer:
    """A server `docs` that offers a skill which the user approved."""
    made = SkilledServer(tmp_path / "server")
    made.serve((ROOT, FILES))
    world.config = f"[mcp.servers.docs]\ncommand = {json.dumps(made.command)}\nargs = {json.dumps(made.args)}\n"
    (world.user_dir / "config.toml").write_text(world.config)
    (tmp_path / "notes").mkdir()
    for path, text in FILES.items():
        (tmp_path / "notes" / path).write_text(text)
    place_skill(str(world.user_dir), McpSkillOrigin("docs", f"{ROOT}/SKILL.md"), str(tmp_path / "notes"))
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(app.get_skill("docs:notes").found)])
    return made


async def test_a_model_that_loads_one_reads_where_it_came_from(world: World, server: SkilledServer) -> None:
    world.replies = [
        call("Skill", {"name": "notes"}),
        call("skill_read", {"name": "notes", "path": "more.md"}),
        say("Done."),
    ]
    events = await world.run()
    loaded, read = only(events, ToolFinished)
    assert loaded.result["text"].startswith(f'<skill_content name="notes" origin="mcp:docs {ROOT}/SKILL.md">')
    assert "MORE" in read.result["text"]
    assert "- notes: (from the MCP server 'docs') Does notes" in json.dumps(world.sent(0))
    assert not any(one.startswith("resources/read") for one in server.asked)  # what lies here is not fetched again


async def test_one_that_changes_is_given_up_in_the_same_conversation(world: World, server: SkilledServer) -> None:
    read = call("skill_read", {"name": "notes", "path": "more.md"})
    world.replies = [call("Skill", {"name": "notes"}), say("Done."), read, say("Done.")]
    async with world.talk() as conversation:
        await collect(conversation, "first")
        server.serve((ROOT, {**FILES, "more.md": "EVIL"}))
        events = await collect(conversation, "second")
    assert "mcp-skill-changed" in [one.code for one in only(events, Noticed)]
    (denied,) = only(events, ToolFinished)
    assert "untrusted" in error_of(denied)
    assert "Does notes" not in json.dumps(world.sent(2)["tools"])
    (revoked,) = world.audit("approval", "revoked")
    assert revoked["skill"] == "notes"


async def test_one_is_not_part_of_a_prompt_that_nobody_asked_it_for(world: World, server: SkilledServer) -> None:
    world.config += '[skills.prompt]\ninject = "full"\n'
    world.replies = [say("x")]
    await world.run()
    assert "BODY OF NOTES" not in json.dumps(world.sent())
    assert server.asked
