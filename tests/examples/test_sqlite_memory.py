"""The SQLite memory: what it finds, that nothing is lost, and that a model and commands use it."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clawft.agent.memory import MemoryFiles
from clawft.contracts import MemoryBackend, PluginError
from clawft.messages import ToolFinished
from sqlite_memory.memory import SqliteMemory
from sqlite_memory.schema import MIGRATIONS, open_database
from wire import call, say
from world import Person, World, collect, only

Weft = Callable[..., subprocess.CompletedProcess[str]]
ID = "org.clawft.sqlite-memory"
FACTS = {
    "deploy": "The project is deployed by `make release` from the branch main.",
    "editor": "Vim, with no plugins. Tabs are four spaces.",
    "pets": "A cat called Tom and a tortoise.",
    "travel": "Prefers the night train to Berlin over flying.",
    "stack": "PostgreSQL 16, Redis for queues, Python 3.12 on the servers.",
    "oncall": "The pager rotates on Mondays at nine; Alice is first.",
    "流程": "生产环境部署前先运行测试",
    "birthday": "Her daughter was born on the third of May.",
}
QUESTIONS = {
    "from which branch do we deploy?": "deploy",
    "deploying": "deploy",
    "what editor does the user like": "editor",
    "tortoises": "pets",
    "postgres": "stack",
    "who is on call first": "oncall",
    "pagers": "oncall",
    "flight or train": "travel",
    "如何部署生产环境": "流程",
    "部署": "流程",
    "when was the daughter born": "birthday",
    "redploy": "deploy",
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.sqlite")


@pytest.fixture
def memory(path: str) -> Iterator[SqliteMemory]:
    with closing(SqliteMemory(open_database(path), 1000)) as opened:
        for key, value in FACTS.items():
            opened.store(key, value)
        yield opened


def test_it_keeps_the_contract(memory: SqliteMemory) -> None:
    assert isinstance(memory, MemoryBackend)
    memory.store("tea", "Green.", {"from": "chat"})
    memory.append("tea", "Always.")
    assert memory.retrieve("tea") == "Green.\n\nAlways."
    assert memory.search("green tea", 1)[0].metadata == {"from": "chat"}
    assert memory.list_keys("t") == ["travel", "tea"]
    assert [memory.delete("tea"), memory.delete("tea"), memory.retrieve("tea")] == [True, False, None]
    assert [one.key for one in memory.search("always", 5)] == []


def find_misses(memory: MemoryBackend) -> set[str]:
    return {query for query, key in QUESTIONS.items() if [one.key for one in memory.search(query, 1)] != [key]}


def test_it_finds_what_the_files_find_and_more(memory: SqliteMemory, tmp_path: Path) -> None:
    with closing(MemoryFiles(str(tmp_path / "files"))) as files:
        for key, value in FACTS.items():
            files.store(key, value)
        assert find_misses(memory) == set() < find_misses(files)


def test_scores_are_from_0_to_1_and_the_best_comes_first(memory: SqliteMemory) -> None:
    scores = [one.score for one in memory.search("the branch of the project on mondays", 10)]
    assert scores == sorted(scores, reverse=True)
    assert 1 >= scores[0] > scores[-1] > 0


@pytest.mark.parametrize(
    "query", ["zebra", "", "  ", "?!", '"', "\x00", "\udcff", "NEAR(x b) OR *", "x" * 9_000, "the"]
)
def test_a_query_that_nothing_fits_finds_nothing(memory: SqliteMemory, query: str) -> None:
    assert memory.search(query, 5) == []


def test_a_full_memory_says_so_and_takes_changes(path: str) -> None:
    with closing(SqliteMemory(open_database(path), 1)) as memory:
        memory.store("one", "1")
        memory.store("one", "2")
        with pytest.raises(PluginError, match="full"):
            memory.store("two", "2")
        with pytest.raises(PluginError, match="bytes"):
            memory.append("one", "x" * 70_000)
        assert memory.retrieve("one") == "2"


def _append(path: str, word: str, count: int) -> None:
    with closing(SqliteMemory(open_database(path), 1000)) as memory:
        for number in range(count):
            memory.append("log", f"{word}{number}")


def test_processes_that_append_at_once_both_succeed(path: str) -> None:
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=_append, args=(path, word, 25)) for word in "ab"]
    for one in workers:
        one.start()
    for one in workers:
        one.join(60)
        assert one.exitcode == 0
    with closing(SqliteMemory(open_database(path), 1000)) as memory:
        kept = (memory.retrieve("log") or "").split("\n\n")
    assert sorted(kept) == sorted(f"{word}{number}" for word in "ab" for number in range(25))


def test_what_was_stored_when_it_was_killed_is_there(path: str) -> None:
    code = (
        "import sys; from sqlite_memory.memory import SqliteMemory; from sqlite_memory.schema import open_database\n"
        "memory = SqliteMemory(open_database(sys.argv[1]), 10**6)\n"
        "for number in range(10**6):\n"
        "    memory.append('log', str(number)); print(number, flush=True)\n"
    )
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout if line.endswith("\n")]
    with closing(SqliteMemory(open_database(path), 1000)) as memory:
        kept = [int(one) for one in (memory.retrieve("log") or "").split("\n\n")]
        assert memory.search(str(told[-1]), 1)[0].key == "log"
    assert kept[: len(told)] == told
    assert len(kept) - len(told) in (0, 1)  # one that was done and not told


def test_a_file_of_an_earlier_version_is_brought_up_to_date(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        for statement in MIGRATIONS[0]:
            old.execute(statement)
        old.execute("INSERT INTO fact(key, value) VALUES ('deploy', 'A redeployment takes an hour.')")
        old.execute("PRAGMA user_version=1")
    with closing(SqliteMemory(open_database(path), 1000)) as memory:
        assert [one.key for one in memory.search("eploym", 5)] == ["deploy"]  # which only parts of words find


def test_a_file_of_a_later_version_or_of_something_else_is_left_alone(path: str) -> None:
    with closing(sqlite3.connect(path)) as later:
        later.execute("PRAGMA user_version=99")
    with pytest.raises(PluginError, match="version 99"):
        open_database(path)
    Path(path).write_bytes(b"no database at all, but some text" * 100)
    with pytest.raises(PluginError, match="cannot be used"):
        open_database(path)


@pytest.mark.anyio
@pytest.mark.parametrize("scope", ["global", "project"])
async def test_a_model_uses_it_and_so_do_the_next_sessions(tmp_path: Path, scope: str) -> None:
    world = World(tmp_path)
    world.add_example("sqlite-memory")
    world.config = f'[memory]\nbackend = "sqlite"\n[plugins.entries."{ID}".config]\nscope = "{scope}"\n'
    world.replies = [
        call("memory_write", {"key": "tea", "content": "Green."}),
        call("memory_read", {"query": "which tea"}),
        say("done"),
    ]
    async with world.talk(approve=Person()) as conversation:
        events = await collect(conversation, "go")
    assert "## tea\nGreen." in only(events, ToolFinished)[1].result["text"]
    world.replies = [say("Green.")]
    await world.run("which tea?", key="another")
    assert "## tea\nGreen." in world.sent()["messages"][0]["content"]
    (file,) = (world.user_dir / "plugin-data" / ID).glob("*.sqlite")
    assert (file.name == "global.sqlite") == (scope == "global")
    assert not (world.user_dir / "memory").exists()
