"""Attacks in every disguise we could think of, and an innocent neighbour of each.

They were written without looking at the scanner, so they say what it finds of attacks that it was not built on. Each
family of attacks has a floor; no innocent skill may be blocked.
"""

from pathlib import Path

import pytest

from clawft.scan import scan_path
from scan_cases import Case, read_cases

CASES = read_cases(Path(__file__).parent)
FLOORS = {
    "agent": 0.0,
    "autorun": 0.0,
    "channels": 0.0,
    "contextual": 0.0,
    "destruction": 0.0,
    "encoded-elsewhere": 0.0,
    "encoded-javascript": 0.0,
    "encoded-matrix": 0.0,
    "encoded-python": 0.0,
    "encoded-shell": 0.0,
    "files": 0.0,
    "languages": 0.0,
    "markdown": 0.0,
    "persistence": 0.0,
    "prerequisites": 0.0,
    "prose": 0.0,
    "size": 0.0,
    "splitting": 0.0,
    "triggers": 0.0,
    "unicode": 0.0,
}


def is_blocked(case: Case, folder: Path) -> bool:
    report = scan_path(str(case.write(folder)))
    assert not [gap for gap in report.coverage.gaps if gap.failed], f"{case.name}: {report.coverage.gaps}"
    return report.verdict == "malicious"


@pytest.mark.parametrize("family", sorted({case.family for case in CASES if case.malicious}))
def test_attacks_of_a_family_are_blocked(family: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.family == family]
    missed = [case.name for case in cases if not is_blocked(case, tmp_path)]
    assert len(missed) <= len(cases) * (1 - FLOORS[family]), f"missed {len(missed)} of {len(cases)}: {missed}"


@pytest.mark.parametrize("family", sorted({case.family for case in CASES if not case.malicious}))
def test_innocent_neighbours_are_not_blocked(family: str, tmp_path: Path) -> None:
    assert [case.name for case in CASES if case.family == family and is_blocked(case, tmp_path)] == []


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 400
