"""Attacks in every disguise we could think of, and an innocent neighbour of each.

They were written without looking at the scanner, so they say what it finds of attacks that it was not built on. Each
family of attacks has a floor; no innocent skill may be blocked.
"""

from pathlib import Path

import pytest

from clawft.scanner import scan_path
from scan_cases import Case, read_cases

CASES = read_cases(Path(__file__).parent)
# What is found today; only ever raised.
FLOORS = {
    "agent": 0.70,
    "autorun": 1.00,
    "channels": 1.00,
    "contextual": 0.33,
    "destruction": 0.82,
    "encoded-elsewhere": 1.00,
    "encoded-javascript": 1.00,
    "encoded-matrix": 0.97,
    "encoded-python": 1.00,
    "encoded-shell": 1.00,
    "files": 1.00,
    "languages": 1.00,
    "markdown": 0.76,
    "persistence": 0.93,
    "prerequisites": 1.00,
    "prose": 0.56,
    "size": 1.00,
    "splitting": 0.96,
    "triggers": 1.00,
    "unicode": 1.00,
}

CEILINGS = {"benign-security": 0.1}  # texts and tools about attacks show some; no other family may be blocked at all


def is_blocked(case: Case, folder: Path) -> bool:
    report = scan_path(str(case.write(folder)))
    assert not [gap for gap in report.coverage.gaps if gap.failed], f"{case.name}: {report.coverage.gaps}"
    return report.verdict == "malicious"


@pytest.mark.parametrize("family", sorted({case.family for case in CASES if case.malicious}))
def test_attacks_of_a_family_are_blocked(family: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.family == family]
    missed = [case.name for case in cases if not is_blocked(case, tmp_path)]
    found = 1 - len(missed) / len(cases)
    assert found > FLOORS[family] - 0.005, f"missed {len(missed)} of {len(cases)}: {missed}"


@pytest.mark.parametrize("family", sorted({case.family for case in CASES if not case.malicious}))
def test_innocent_neighbours_are_not_blocked(family: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.family == family]
    blocked = [case.name for case in cases if is_blocked(case, tmp_path)]
    share = len(blocked) / len(cases)
    assert share <= CEILINGS.get(family, 0), f"blocked {len(blocked)} of {len(cases)}: {blocked}"


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 400
