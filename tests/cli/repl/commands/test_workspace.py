"""`/config`, `/workspace`, `/memory`, `/reload`: what is set, where, and what is remembered."""

from collections.abc import Awaitable, Callable

import pytest

from terminal import Open, Terminal
from wire import say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


async def test_config_shows_what_is_set_and_where(world: World, terminal: Open, enter: Enter) -> None:
    world.config = '[skills.entries.research]\napi_key = "sk-hunter2222222222"\n'
    async with terminal(columns=120) as t:
        shown = await enter(t, "/config")
        rows = [line.split() for line in shown.split("\n")]
        assert rows[0] == ["SETTING", "VALUE", "FROM"]
        assert ["agents.defaults.model", "local/m", "~/.clawft/config.toml:2"] in rows
        assert "hunter2" not in t.text()


async def test_config_shows_no_secret_in_the_settings_of_a_plugin(world: World, terminal: Open, enter: Enter) -> None:
    plugin = 'plugins.entries."org.example.mail".config'
    world.config = f'[{plugin}]\npassword = "hunter2"\naccounts = [{{ user = "me", token = "hunter2" }}]\n'
    async with terminal(columns=120) as t:
        for line in ("/config", "/config plugins", f"/config {plugin}.password", f"/config {plugin}.accounts"):
            assert "<redacted>" in await enter(t, line)
        assert "hunter2" not in t.text()


async def test_config_shows_one_value_or_a_section(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=120, lines=40) as t:
        assert await enter(t, "/config agents.defaults.model") == "local/m"
        assert await enter(t, "/config agents.defaults.max_tokens") == "4096"
        assert await enter(t, "/config agents.budget.per_day_usd") == "(not set)"
        section = [line.split() for line in (await enter(t, "/config agents.compaction")).split("\n")]
        assert ["agents.compaction.keep_turns", "4", "default"] in section


async def test_config_of_an_unknown_key_gets_the_close_match(terminal: Open, enter: Enter) -> None:
    async with terminal(columns=120) as t:
        shown = await enter(t, "/config agents.defaults.modell")
        assert "error[config-unknown-key]: There is no setting 'agents.defaults.modell'" in shown
        assert "model" in shown.split("\n")[-1]


async def test_workspace_shows_paths_branch_and_counts(world: World, terminal: Open, enter: Enter) -> None:
    (world.project / ".git").mkdir()
    (world.project / ".git/HEAD").write_text("ref: refs/heads/topic/x\n")
    world.add_skill("research")
    async with terminal(columns=200) as t:
        facts = dict(line.split(":", 1) for line in (await enter(t, "/workspace")).split("\n"))
        assert {label: value.strip() for label, value in facts.items()} == {
            "Project": str(world.project),
            "Branch": "topic/x",
            "Your folder": "~/.clawft",
            "Config": "~/.clawft/config.toml",
            "Skills": "5 skills: 5 ready",
            "Agents": "4 agents: 4 ready",
        }


async def test_memory_is_shown_and_searched(world: World, terminal: Open, enter: Enter) -> None:
    async with terminal(columns=120) as t:
        assert (await enter(t, "/memory")).startswith("Nothing is remembered yet.")
        (world.user_dir / "memory").mkdir(exist_ok=True)
        (world.user_dir / "memory/MEMORY.md").write_text("## editor\n\nThe person likes \x1b[31mvim\x1b[0m.\n")
        shown = await enter(t, "/memory")
        assert "## editor" in shown
        assert "vim" in shown
        assert "\x1b[31mvim" not in t.raw()
        assert "editor" in await enter(t, "/memory search person")
        assert await enter(t, "/memory search zeppelin") == "Nothing in the memory matches 'zeppelin'"
        assert await enter(t, "/memory find vim") == "Usage: /memory, or /memory search <query>"
        assert await enter(t, "/memory search") == "Usage: /memory, or /memory search <query>"


async def test_the_memory_of_a_plugin_is_shown_and_searched(world: World, terminal: Open, enter: Enter) -> None:
    world.add_example("sqlite-memory")
    world.config = '[memory]\nbackend = "sqlite"\n'
    async with terminal(columns=120) as t:
        assert await enter(t, "/memory") == "'sqlite' is empty."
        assert await enter(t, "/memory search zeppelin") == "Nothing in the memory matches 'zeppelin'"
    assert not (world.user_dir / "memory").exists()


async def test_reload_sees_new_skills_and_the_conversation_goes_on(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2")]
    async with terminal(columns=120) as t:
        await enter(t, "hello")
        key = t.repl.key
        assert "4 skills" in await enter(t, "/skills")
        world.add_skill("later", "Later text.")
        assert "Unknown command: /later." in await enter(t, "/later")
        assert await enter(t, "/reload") == "Reloaded. 5 skills: 5 ready; 4 agents"
        await enter(t, "/later")
        said = [one["content"] for one in world.sent()["messages"] if one["role"] == "user"]
        assert said[0] == "hello"
        assert "Later text." in said[1]
        assert t.repl.key == key


async def test_reload_of_a_config_that_makes_no_sense_changes_nothing(
    world: World, terminal: Open, enter: Enter
) -> None:
    world.replies = [say("1")]
    async with terminal(columns=120) as t:
        config = world.user_dir / "config.toml"
        config.write_text("[agents.defaults\n")
        assert "error[config-" in await enter(t, "/reload")
        assert await enter(t, "/config agents.defaults.model") == "local/m"


async def test_reload_takes_up_a_changed_model(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1")]
    async with terminal(columns=120) as t:
        config = world.user_dir / "config.toml"
        config.write_text(config.read_text().replace('"local/m"', '"local/next"'))
        await enter(t, "/reload")
        await enter(t, "hello")
        assert world.sent()["model"] == "next"
