"""`/agents`, `/agent NAME`, `/model`, `/tools`: who answers, and with what."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clawft.cli.options import TurnOptions
from terminal import Open, Terminal
from wire import say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]
SERVER = Path(__file__).parents[3] / "agent/mcp/servers/plain.py"


def add_agent(folder: Path, name: str, head: str = "") -> None:
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / f"{name}.md").write_text(f"---\nname: {name}\ndescription: D.\n{head}---\nYou are {name}.\n")


def tools_sent(world: World) -> set[str]:
    return {one["function"]["name"] for one in world.sent().get("tools", [])}


async def test_agents_are_listed(world: World, terminal: Open, enter: Enter) -> None:
    add_agent(world.user_dir, "researcher", "model: local/other\n")
    async with terminal(columns=100) as t:
        rows = [line.split() for line in (await enter(t, "/agents")).split("\n")]
        assert ["researcher", "D.", "local/other", "user"] in rows
        assert ["explore", "Read-only", "exploration", "(config", "default)", "built-in"] in rows
        assert rows[-1] == ["Now:", "default"]


async def test_switch_is_said_with_the_model(world: World, terminal: Open, enter: Enter) -> None:
    world.environ["ANTHROPIC_API_KEY"] = "never-sent-anywhere"
    add_agent(world.user_dir, "researcher", "model: anthropic/claude-sonnet-4-20250514\n")
    async with terminal() as t:
        shown = await enter(t, "/agent researcher")
        assert shown == "Switched to agent: researcher (anthropic/claude-sonnet-4-20250514)"
        assert await enter(t, "/agent") == "Agent: researcher (anthropic/claude-sonnet-4-20250514)"
        assert await enter(t, "/agent default") == "Switched to agent: default (local/m)"


async def test_agent_narrows_the_tools_and_default_restores_them(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2"), say("3")]
    async with terminal() as t:
        await enter(t, "one")
        everything = tools_sent(world)
        await enter(t, "/agent explore")
        await enter(t, "two")
        assert tools_sent(world) == {"read_file", "list_directory"}
        assert "Explore and explain." in world.sent()["messages"][0]["content"]
        assert [one["content"] for one in world.sent()["messages"] if one["role"] == "user"] == ["one", "two"]
        await enter(t, "/agent default")
        await enter(t, "three")
        assert tools_sent(world) == everything


async def test_unknown_agent_says_so_and_the_old_one_stays(terminal: Open, enter: Enter) -> None:
    async with terminal() as t:
        assert await enter(t, "/agent nope") == "Agent 'nope' not found. Run /agents to see available agents."
        assert (await enter(t, "/agent explor")).endswith("hint: did you mean 'explore'?")
        assert await enter(t, "/agent") == "Agent: default (local/m)"


async def test_agent_that_cannot_be_used_is_refused_with_the_reason(world: World, terminal: Open, enter: Enter) -> None:
    add_agent(world.project / ".clawft", "stranger")
    add_agent(world.user_dir, "elsewhere", "model: nowhere/x\n")
    (world.user_dir / "agents/broken.md").write_text("---\nname: broken\n")
    async with terminal(columns=120) as t:
        assert "error[agent-untrusted]: The project's agent 'stranger' is not approved" in await enter(
            t, "/agent stranger"
        )
        assert "error[provider-not-found]: No provider 'nowhere'" in await enter(t, "/agent elsewhere")
        assert "error[agent-broken]: The agent 'broken' cannot be read" in await enter(t, "/agent broken")
        assert await enter(t, "/agent") == "Agent: default (local/m)"


async def test_skills_that_an_agent_lacks_are_named_at_the_next_turn(
    world: World, terminal: Open, enter: Enter
) -> None:
    add_agent(world.user_dir, "lacking", "skills: [missing-one]\n")
    world.replies = [say("Anyway.")]
    async with terminal(columns=120) as t:
        await enter(t, "/agent lacking")
        shown = await enter(t, "hello")
        assert "warning[agent-skill-missing]: The agent 'lacking' names the skill 'missing-one'" in shown
        assert "Anyway." in shown


async def test_model_that_was_chosen_stays_with_another_agent(world: World, terminal: Open, enter: Enter) -> None:
    add_agent(world.user_dir, "researcher", "model: local/other\n")
    world.replies = [say("1"), say("2")]
    async with terminal(options=TurnOptions(model="local/flag")) as t:
        assert await enter(t, "/agent researcher") == (
            "Switched to agent: researcher (local/flag)\n  note: its own model is local/other; /model default uses that"
        )
        await enter(t, "one")
        assert world.sent()["model"] == "flag"
        assert await enter(t, "/model default") == "Switched to model: local/other"
        await enter(t, "two")
        assert world.sent()["model"] == "other"


async def test_model_is_shown_and_switched(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1")]
    async with terminal(columns=120) as t:
        assert await enter(t, "/model") == "Model: local/m (the default)"
        assert await enter(t, "/model local/bigger") == "Switched to model: local/bigger"
        assert await enter(t, "/model") == "Model: local/bigger (chosen for this session)"
        await enter(t, "hello")
        assert world.sent()["model"] == "bigger"
        await enter(t, "/model default")
        assert await enter(t, "/model") == "Model: local/m (the default)"


async def test_model_without_a_provider_is_refused(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=120) as t:
        assert (await enter(t, "/model loca/m")).startswith(
            "error[provider-not-found]: No provider 'loca'\n  hint: did you mean 'local'?"
        )
        assert "error[model-invalid]" in await enter(t, "/model local/")
        assert await enter(t, "/model") == "Model: local/m (the default)"


async def test_model_says_who_chose_it(world: World, terminal: Open, enter: Enter) -> None:
    add_agent(world.user_dir, "researcher", "model: local/other\n")
    world.config = '[[agents.routing.tiers]]\nmodel = "local/small"\nup_to = 0.5\n'
    async with terminal() as t:
        assert await enter(t, "/model") == "Model: local/m (agents.routing may choose another for a message)"
        await enter(t, "/agent researcher")
        assert await enter(t, "/model") == "Model: local/other (of the agent researcher)"


async def test_tools_are_those_of_the_agent(world: World, terminal: Open, enter: Enter) -> None:
    async with terminal(columns=100, lines=40) as t:
        shown = await enter(t, "/tools")
        rows = [line.split(maxsplit=1) for line in shown.split("\n")]
        assert rows[0] == ["TOOL", "DOES"]
        assert ["read_file", "Read a file of the project"] in rows
        assert "Skill" in [row[0] for row in rows]
        await enter(t, "/agent explore")
        shown = await enter(t, "/tools")
        assert [line.split()[0] for line in shown.split("\n")] == ["TOOL", "read_file", "list_directory", "2"]
        assert shown.endswith("2 tools of the agent explore, in mode auto-edit (/mode, /permissions)")
        await enter(t, "/agent planner")
        assert (await enter(t, "/tools")).startswith("0 tools of the agent planner")
        assert world.server.asked == []


async def test_tools_of_servers_are_listed_and_a_server_that_fails_is_told(
    world: World, terminal: Open, enter: Enter
) -> None:
    world.config = (
        f'[mcp.servers.plain]\ncommand = "{sys.executable}"\nargs = ["-IS", "{SERVER}", ""]\n'
        '[mcp.servers.gone]\ncommand = "/no/such/program"\n'
    )
    async with terminal(columns=120, lines=40) as t:
        shown = await enter(t, "/tools")
        assert "plain__" in shown
        assert "warning[mcp-" in shown
