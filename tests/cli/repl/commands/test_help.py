"""`/help`: the list of commands, topics, and a word on each command."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path

import pytest

from clawft.cli.repl.commands import COMMANDS
from terminal import Open, Terminal

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]

SEED = """\
  /help [topic]        Show help (topics: skills, agents, commands, config)
  /skills              List available skills
  /skill <name> [args] Invoke a skill
  /agents              List available agents
  /agent <name>        Switch to a named agent
  /tools               List available tools
  /memory              Show memory summary
  /config              Show current configuration
  /model <name>        Switch model
  /session             Show session info
  /workspace           Show workspace info
  /clear               Clear session history
  /exit                Exit the session"""


async def test_help_lists_every_command_as_the_specification_has_it(terminal: Open, enter: Enter) -> None:
    async with terminal(lines=50) as t:
        shown = await enter(t, "/help")
        lines = shown.split("\n")
        assert lines[0] == "Commands:"
        assert [line for line in lines if line in SEED.split("\n")] == SEED.split("\n")
        for command in COMMANDS:
            assert any(line.startswith(f"  {command.usage} ") and command.description in line for line in lines)
        assert all(len(line) <= 80 for line in lines)


async def test_help_of_a_topic(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=100, lines=60) as t:
        shown = await enter(t, "/help skills")
        assert shown.startswith("Skills are reusable prompts that teach the agent specialized behaviors.")
        for part in (
            "Locations (highest priority first):",
            "1. .clawft/skills/",
            "2. ~/.clawft/skills/",
            "3. ~/.clawft/workspace/skills/",
            "SKILL.md with YAML frontmatter (recommended)",
            "skill.json + prompt.md (legacy)",
            "/skills                List all skills",
            "/skills <name>         Show skill details",
            "/skill <name> [args]   Invoke a skill",
            "/<skill-name> [args]   Direct invocation (if user-invocable)",
        ):
            assert part in shown


async def test_help_of_commands_lists_those_that_are_there(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=100, lines=60) as t:
        shown = await enter(t, "/help commands")
        assert all(command.usage in shown for command in COMMANDS)


@pytest.mark.parametrize("asked", ["/help clear", "/help /clear"])
async def test_help_of_a_command(terminal: Open, enter: Enter, asked: str) -> None:
    async with terminal() as t:
        shown = await enter(t, asked)
        assert "/clear" in shown
        assert "/resume goes on with it" in " ".join(shown.split())


async def test_slash_tells_a_command_from_a_topic_of_its_name(terminal: Open, enter: Enter) -> None:
    async with terminal() as t:
        assert "`/skills NAME`" not in await enter(t, "/help skills")
        assert "/skills NAME shows one of them whole" in " ".join((await enter(t, "/help /skills")).split())


async def test_unknown_topic_gets_the_close_match(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=100) as t:
        assert await enter(t, "/help skils") == (
            "No topic or command 'skils'. Type /help for available commands. Did you mean /help skills?"
        )


def test_every_command_explains_itself() -> None:
    names = [name for one in COMMANDS for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    for one in COMMANDS:
        assert one.usage.startswith(f"/{one.name}")
        assert one.description
        assert one.help


def test_every_command_names_functions_that_are_there() -> None:
    for one in COMMANDS:
        for place in filter(None, (one.runner, one.completer)):
            module, _, name = place.partition(":")
            assert callable(getattr(import_module(f"clawft.cli.repl.commands.{module}"), name))


def test_every_command_stands_in_the_docs_as_help_has_it() -> None:
    page = (Path(__file__).parents[4] / "docs/agent.md").read_text(encoding="utf-8")
    for one in COMMANDS:
        assert f"| `{one.usage}` | {one.description} |" in page.split("\n")
