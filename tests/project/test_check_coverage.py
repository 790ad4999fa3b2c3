"""The coverage thresholds, on reports made here."""

import json
from pathlib import Path

import pytest

import check_coverage


def write_report(folder: Path, **covered_of_100: int) -> str:
    files = {
        f"src/clawft/{name.replace('__', '/')}.py": {"summary": {"covered_lines": covered, "num_statements": 100}}
        for name, covered in covered_of_100.items()
    }
    path = folder / "report.json"
    path.write_text(json.dumps({"files": files}))
    return str(path)


def test_areas_at_their_minimum_pass(tmp_path: Path) -> None:
    report = write_report(
        tmp_path,
        skills__parse__yaml=90,
        skills__render__args=90,
        config__files=90,
        skills__discovery__walk=85,
        trust__states=85,
        cli__main=80,
        app=85,
    )
    assert check_coverage.main(report) == 0


@pytest.mark.parametrize(
    ("file", "covered", "line"),
    [
        ("skills__parse__yaml", 89, "FAIL  coverage of src/clawft/skills/parse: 89.0 % (at least 90 %)"),
        ("trust__states", 84, "FAIL  coverage of src/clawft/trust: 84.0 % (at least 85 %)"),
        ("cli__main", 79, "FAIL  coverage of src/clawft/cli: 79.0 % (at least 80 %)"),
        ("app", 84, "FAIL  coverage of everything else: 84.0 % (at least 85 %)"),
    ],
)
def test_area_below_its_minimum_fails_with_its_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, covered: int, line: str
) -> None:
    assert check_coverage.main(write_report(tmp_path, **{file: covered})) == 1
    assert line in capsys.readouterr().out.splitlines()


def test_well_tested_area_does_not_make_up_for_another(tmp_path: Path) -> None:
    assert check_coverage.main(write_report(tmp_path, skills__parse__yaml=100, trust__states=50)) == 1


def test_empty_report_fails(tmp_path: Path) -> None:
    assert check_coverage.main(write_report(tmp_path)) == 1
