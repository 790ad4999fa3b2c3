"""The memory of a plugin in turns and commands: it is the one that is used, and never another in its place."""

import json
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.messages import Noticed, ToolFinished
from wire import call, say
from world import Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio
ID = "org.example.memory"
KEEPS = """
class Plugin(Plugin):
    name = "keeps"

    def init(self, host):
        self.facts = {"editor": "Vim.", "pets": "A cat called Tom."}

    def store(self, key, value, metadata=None):
        self.facts[key] = value

    def append(self, key, value):
        self.facts[key] = self.facts.get(key, "") + value

    def retrieve(self, key):
        return self.facts.get(key)

    def search(self, query, limit):
        return [MemoryResult(key, value, 0.5) for key, value in self.facts.items() if query in value]

    def delete(self, key):
        return self.facts.pop(key, None) is not None

    def list_keys(self, prefix=""):
        return list(self.facts)
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.config = '[memory]\nbackend = "keeps"\n'
    return made


def add_memory(world: World, change: str = "", plugin_id: str = ID) -> None:
    """The memory above, with methods in the place of its own."""
    world.add_plugin(plugin_id, f"{KEEPS}{change}", capabilities=["memory"], memory=["keeps"])


async def test_what_a_model_remembers_is_kept_and_found_there_and_is_part_of_the_prompt(world: World) -> None:
    add_memory(world)
    world.replies = [
        call("memory_write", {"key": "tea", "content": "Green."}),
        call("memory_write", {"key": "tea", "content": " Always.", "mode": "append"}),
        call("memory_read", {"query": "Green"}),
        call("memory_write", {"key": "pets", "mode": "delete"}),
        call("memory_read", {}),
        say("done"),
    ]
    async with world.talk(approve=Person()) as conversation:
        events = await collect(conversation, "go")
    results = [one.result for one in only(events, ToolFinished)]
    assert "## editor\nVim.\n\n## pets\nA cat called Tom." in world.sent(0)["messages"][0]["content"]
    found = [{"key": "tea", "value": "Green.Always.", "score": 0.5, "metadata": None}]
    assert [*results[2]["data"]["results"]] == found
    assert results[4]["data"]["keys"] == ["editor", "tea"]
    assert not (world.user_dir / "memory").exists()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("return [MemoryResult('a', 'b', 1.5)]", "not from 0 to 1"),
        ("return [{'key': 'a', 'value': 3, 'score': 1}]", "wrong kind"),
        ("return [MemoryResult('a', 'b' * 70_000, 1)]", "too long"),
        ("raise PluginError('the disk is full')", "the disk is full"),
        ("raise RuntimeError('oops')", "oops"),
    ],
)
async def test_what_goes_wrong_is_told_to_the_model(world: World, answer: str, said: str) -> None:
    add_memory(world, f"    def search(self, query, limit):\n        {answer}")
    world.replies = [call("memory_read", {"query": "tea"}), say("done")]
    (finished,) = only(await world.run("go"), ToolFinished)
    assert said in error_of(finished)


async def test_a_memory_that_cannot_be_read_is_not_taken_for_an_empty_one(world: World) -> None:
    add_memory(world, "    def list_keys(self, prefix=''):\n        raise RuntimeError('oops')")
    world.replies = [say("done")]
    events = await world.run("go")
    assert "The memory cannot be read right now" in world.sent()["messages"][0]["content"]
    assert "memory-failed" in [one.code for one in only(events, Noticed)]


@pytest.mark.parametrize("count", [0, 2])
async def test_a_memory_that_nobody_or_several_bring_is_none_and_not_the_files(world: World, count: int) -> None:
    for number in range(count):
        add_memory(world, plugin_id=f"org.example.memory{number}")
    world.replies = [call("memory_write", {"key": "tea", "content": "Green."}), say("done")]
    events = await world.run("go", approve=Person())
    (finished,) = only(events, ToolFinished)
    assert ("no plugin brings" if count == 0 else "2 plugins bring") in error_of(finished)
    assert "memory-missing" in [one.code for one in only(events, Noticed)]
    assert not (world.user_dir / "memory").exists()


async def test_a_memory_that_comes_later_is_used_from_the_next_turn(world: World) -> None:
    world.replies = [say("one"), say("two")]
    async with world.talk() as conversation:
        first = await collect(conversation, "go")
        add_memory(world)
        second = await collect(conversation, "go")
    assert "memory-missing" in [one.code for one in only(first, Noticed)]
    assert "memory-missing" not in [one.code for one in only(second, Noticed)]
    assert "## editor\nVim." in world.sent()["messages"][0]["content"]


async def test_a_project_does_not_choose_the_memory(world: World) -> None:
    add_memory(world)
    world.config = ""
    file = world.project / ".clawft" / "config.toml"
    file.write_text('[memory]\nbackend = "keeps"\n')
    open_app(world.environ, str(world.project)).approve_config()
    world.replies = [call("memory_write", {"key": "tea", "content": "Green."}), say("done")]
    events = await world.run("go", approve=Person())
    assert (world.user_dir / "memory" / "MEMORY.md").exists()
    assert "Vim" not in json.dumps(world.sent(0))
    assert "memory-ignored" in [one.code for one in only(events, Noticed)]
