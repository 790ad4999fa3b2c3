"""`weft skills search`."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of skills to search."""
    for name, description in {
        "release-notes": "Write release notes from commits.",
        "deploy": "Deploy to staging after a release.",
        "invoice-reader": "Extract totals from bills.",
    }.items():
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n")
    return tmp_path / "skills"


def test_search_finds_by_words_best_first(weft: Weft, folder: Path) -> None:
    done = weft("skills", "search", "--dir", folder, "writing", "release", "notes")

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["NAME", "DESCRIPTION", "STATE", "SCORE"]
    assert [line.split()[0] for line in lines[1:]] == ["release-notes", "deploy"]


def test_json_of_search_has_the_documented_keys(weft: Weft, folder: Path) -> None:
    document = json.loads(weft("skills", "search", "--dir", folder, "--format", "json", "the release", "notes").stdout)

    assert list(document) == ["schema", "query", "results"]
    assert (document["schema"], document["query"]) == ("clawft.skills.search.v1", "the release notes")
    assert list(document["results"][0])[:4] == ["name", "score", "description", "state"]
    assert [one["name"] for one in document["results"]] == ["release-notes", "deploy"]
    assert document["results"][0]["score"] > document["results"][1]["score"]


def test_limit_cuts_the_results(weft: Weft, folder: Path) -> None:
    done = weft("skills", "search", "--dir", folder, "-n", "1", "--format", "json", "release")

    assert len(json.loads(done.stdout)["results"]) == 1


@pytest.mark.parametrize("query", ['" OR 1=1 --', "'; DROP TABLE skill; --", "name:deploy AND NOT (", "*", " "])
def test_operators_and_sql_in_the_query_are_harmless(weft: Weft, folder: Path, query: str) -> None:
    done = weft("skills", "search", "--dir", folder, "--", query)

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr


def test_nothing_found_is_said_on_stderr(weft: Weft, folder: Path) -> None:
    done = weft("skills", "search", "--dir", folder, "zebra")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "No skill matches 'zebra'\n")
