"""`weft memory show`, `search` and `reindex`."""

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
TEXT = "# Mine\n\n- I drink green tea\n\n## deploy\n\nRun `make release`.\n\n## pets\n\nA cat called Tom.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the memory stands; nothing is there yet."""
    return tmp_path / "home" / ".clawft" / "memory"


@pytest.fixture
def filled(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(TEXT)
    (folder / "HISTORY.md").write_text("- 2026-03-01T09:30:00Z [main] Bought a bicycle.\n")
    return folder


@pytest.mark.parametrize("words", [("show",), ("search", "tea")])
def test_empty_memory_says_so_kindly_and_makes_nothing(weft: Weft, folder: Path, words: tuple[str, ...]) -> None:
    done = weft("memory", *words)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Nothing is remembered yet. ")
    assert "memory/MEMORY.md yourself" in done.stderr
    assert not folder.exists()


def test_show_prints_the_file_and_one_key_its_text(weft: Weft, filled: Path) -> None:
    assert weft("memory", "show").stdout == TEXT
    assert weft("memory", "show", "pets").stdout == "A cat called Tom.\n"
    assert weft("memory", "show", "HISTORY.md:1").stdout == "Bought a bicycle.\n"
    assert weft("memory", "info", "pets").stdout == "A cat called Tom.\n"


def test_show_as_json(weft: Weft, filled: Path) -> None:
    deploy = {"key": "deploy", "value": "Run `make release`.", "metadata": None}
    pets = {"key": "pets", "value": "A cat called Tom.", "metadata": None}
    start = {"schema": "clawft.memory.show.v1", "folder": str(filled)}

    assert json.loads(weft("memory", "show", "--format", "json").stdout) == {**start, "entries": [deploy, pets]}
    assert json.loads(weft("memory", "show", "pets", "--format", "json").stdout) == {**start, "entries": [pets]}
    past = json.loads(weft("memory", "show", "HISTORY.md:1", "--format", "json").stdout)
    assert past["entries"] == [{"key": "HISTORY.md:1", "value": "Bought a bicycle.", "metadata": None}]


def test_unknown_key_names_the_close_one(weft: Weft, filled: Path) -> None:
    done = weft("memory", "show", "deplo")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error[memory-not-found]: Nothing is remembered under 'deplo'\n"
        "hint: did you mean 'deploy'? Run: weft memory show\n"
    )


def test_search_prints_the_best_first(weft: Weft, filled: Path) -> None:
    done = weft("memory", "search", "the", "cat")
    heads, first = done.stdout.splitlines()
    assert heads.split() == ["KEY", "TEXT", "SCORE"]
    assert first.split() == ["pets", "A", "cat", "called", "Tom.", "1.00"]
    assert weft("memory", "search", "zebra").stderr == "Nothing in the memory matches 'zebra'\n"


def test_search_as_json_with_a_limit(weft: Weft, filled: Path) -> None:
    document = json.loads(weft("memory", "search", "bicycle", "tea", "--limit", "1", "--format", "json").stdout)

    assert (document["schema"], document["query"]) == ("clawft.memory.search.v1", "bicycle tea")
    (result,) = document["results"]
    assert list(result) == ["key", "value", "score", "metadata"]
    assert result["key"] in ("HISTORY.md:1", "MEMORY.md:3")
    assert weft("memory", "search", "tea", "--limit", "0").returncode == 2
    assert weft("memory", "search").returncode == 2


def test_reindex_says_what_was_done(weft: Weft, filled: Path) -> None:
    done = weft("memory", "reindex")
    assert done.stdout.startswith("Indexed 4 entries with embedding version 3 in ")
    assert done.stdout.endswith(" ms\n")

    document = json.loads(weft("memory", "reindex", "--format", "json", CLAWFT_MEMORY__EMBEDDING="2").stdout)
    assert document.pop("elapsed_ms") >= 0
    assert document == {"schema": "clawft.memory.reindex.v1", "entries": 4, "embedding": 2}


def test_vectors_of_version_1_give_a_warning_until_reindex(weft: Weft, filled: Path) -> None:
    weft("memory", "reindex")
    with closing(sqlite3.connect(filled / "index.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE meta SET value = 1 WHERE name = 'embedding'")

    done = weft("memory", "search", "cat")

    assert "A cat called Tom." in done.stdout
    assert "warning[memory-embedding-old]" in done.stderr
    assert "hint: Run: weft memory reindex" in done.stderr
    weft("memory", "reindex")
    assert weft("memory", "search", "cat").stderr == ""


def test_text_cannot_act_on_the_terminal(weft: Weft, filled: Path) -> None:
    (filled / "MEMORY.md").write_text("## evil\n\n\x1b[31mred\x1b[0m\n")
    for words in (("show",), ("show", "evil"), ("search", "red"), ("show", "--format", "json")):
        assert "\x1b" not in weft("memory", *words).stdout
