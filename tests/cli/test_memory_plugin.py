"""`weft memory` with a memory that a plugin brings: the commands use that one, or say that they do not."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from world import World

Weft = Callable[..., subprocess.CompletedProcess[str]]
CODE = """
class Plugin(Plugin):
    name = "keeps"
    facts = {"editor": "Vim.", "pets": "A cat called Tom."}

    def store(self, key, value, metadata=None): ...
    def append(self, key, value): ...
    def delete(self, key): ...

    def retrieve(self, key):
        return self.facts.get(key)

    def search(self, query, limit):
        return [MemoryResult(key, value, 0.5) for key, value in self.facts.items() if query in value]

    def list_keys(self, prefix=""):
        return list(self.facts)
"""


@pytest.fixture
def filled(tmp_path: Path, project: Path) -> Path:
    """The folder of the user, who chose the memory of a plugin; the files hold something else."""
    world = World(tmp_path)
    world.add_plugin("org.example.memory", CODE, capabilities=["memory"], memory=["keeps"])
    (world.user_dir / "config.toml").write_text('[memory]\nbackend = "keeps"\n')
    (world.user_dir / "memory").mkdir()
    (world.user_dir / "memory" / "MEMORY.md").write_text("## other\n\nNot this one.\n")
    return world.user_dir


def test_show_and_search_use_the_plugins_memory(weft: Weft, filled: Path) -> None:
    assert weft("memory", "show").stdout == "## editor\n\nVim.\n\n## pets\n\nA cat called Tom.\n"
    assert weft("memory", "show", "pets").stdout == "A cat called Tom.\n"
    found = json.loads(weft("memory", "search", "cat", "--format", "json").stdout)
    assert [one["key"] for one in found["results"]] == ["pets"]
    lost = weft("memory", "show", "pet")
    assert (lost.returncode, "did you mean 'pets'?" in lost.stderr) == (1, True)


def test_reindex_works_on_files_and_says_that_there_are_none(weft: Weft, filled: Path) -> None:
    done = weft("memory", "reindex")
    assert done.returncode == 1
    assert "error[memory-not-files]: The memory is 'keeps'" in done.stderr
    assert not (filled / "memory" / "index.sqlite").exists()


def test_a_memory_that_nobody_brings_is_an_error_and_a_problem(weft: Weft, filled: Path) -> None:
    (filled / "config.toml").write_text('[memory]\nbackend = "gone"\n')
    assert "error[memory-missing]" in weft("memory", "search", "cat").stderr
    assert "memory.backend is 'gone'" in weft("doctor").stdout
