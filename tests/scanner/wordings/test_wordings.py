"""Attacks said in many ways, and what honest skills say with the same words.

Each wording is put into a useful skill. Those in `held-out` did not shape the grammar (but for `one-line-among-others`,
which was known when its grammar was written), yet come from the same hand as those that did; `mixed` and `told-at-last`
were written after it and say how little is found of what nobody thought of. Each family has a floor; no honest
neighbour may be blocked.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from clawft.scanner import scan_path

HERE = Path(__file__).parent
HELD_OUT = HERE / "held-out"


class Wording(NamedTuple):
    """One way to say something, and whether it attacks."""

    attack: bool
    name: str
    text: str


def read_blocks(path: Path) -> Iterator[tuple[str, str]]:
    """The head and the text of each block of a file; a line that begins with @@ begins one."""
    for block in re.split(r"^@@ ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        head, _, text = block.partition("\n")
        yield head.strip(), text.strip("\n")


def read_wordings(path: Path) -> list[Wording]:
    heads = ((*head.split(" ", 1), text) for head, text in read_blocks(path))
    return [Wording(how == "attack", name, text) for how, name, text in heads]


HOSTS = list(read_blocks(HERE / "hosts.txt"))
FAMILIES = sorted(path.stem for path in HERE.glob("*.txt") if path.stem != "hosts")
FILES = [*(HERE / f"{family}.txt" for family in FAMILIES), *sorted(HELD_OUT.glob("*.txt"))]
# What is found today, per family and in all of the held-out ones; only ever raised.
FLOORS = {**dict.fromkeys(FAMILIES, 1.0), "told-again": 0.87}
HELD_OUT_FLOOR = 0.70  # of the families 0.88; of `mixed` and `told-at-last` 2 of 24


def is_told(wording: Wording, number: int, folder: Path) -> bool:
    name, _, description = HOSTS[number % len(HOSTS)][0].partition(": ")
    body = HOSTS[number % len(HOSTS)][1].replace("{{here}}", wording.text)
    skill = folder / f"{number}" / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n", "utf-8")
    report = scan_path(str(skill))
    assert not report.failed, report.coverage.gaps
    return report.verdict != "clean"  # prose alone is seldom enough to block


def find_told(path: Path, folder: Path, *, attack: bool) -> tuple[list[str], list[str]]:
    """The names of the wordings of a file that a user is told of, and of those that pass."""
    told: tuple[list[str], list[str]] = ([], [])
    for number, wording in enumerate(read_wordings(path)):
        if wording.attack is attack:
            told[0 if is_told(wording, number, folder) else 1].append(wording.name)
    return told


@pytest.mark.parametrize("family", FAMILIES)
def test_attacks_are_found_however_they_are_said(family: str, tmp_path: Path) -> None:
    found, missed = find_told(HERE / f"{family}.txt", tmp_path, attack=True)
    assert len(found) / (len(found) + len(missed)) > FLOORS[family] - 0.005, f"missed: {missed}"


def test_wordings_that_shaped_nothing_are_found_too(tmp_path: Path) -> None:
    found, total = 0, 0
    for path in sorted(HELD_OUT.glob("*.txt")):
        one, other = find_told(path, tmp_path / path.stem, attack=True)
        found, total = found + len(one), total + len(one) + len(other)
    assert found / total > HELD_OUT_FLOOR - 0.005, f"found {found} of {total}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_same_words_in_an_honest_skill_are_no_attack(path: Path, tmp_path: Path) -> None:
    told, _ = find_told(path, tmp_path, attack=False)
    assert told == []
