"""Many scans: in order, over processes, and whatever happens to one of them."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

from clawft.scanner import Report
from clawft.scanner.batch import FEW, ScannedPath, choose_jobs, scan_many, scan_target


def _skills(folder: Path, count: int) -> list[ScannedPath]:
    targets = []
    for number in range(count):
        skill = folder / f"skill-{number:02}"
        skill.mkdir()
        (skill / "SKILL.md").write_text(f"---\nname: skill-{number:02}\ndescription: d\n---\n\nSay hello.\n")
        targets.append(ScannedPath(str(skill)))
    return targets


def test_reports_come_in_the_order_of_the_targets(tmp_path: Path) -> None:
    targets = _skills(tmp_path, 9)

    alone, apart = (list(scan_many(targets, jobs=jobs)) for jobs in (1, 3))

    assert [report.path for report in alone] == [target.path for target in targets]
    assert apart == alone


def test_missing_target_is_a_report_that_failed(tmp_path: Path) -> None:
    (sound,) = _skills(tmp_path, 1)

    first, gone, last = scan_many([sound, ScannedPath(str(tmp_path / "gone")), sound])

    assert not first.failed
    assert first == last
    assert gone.failed
    assert (gone.verdict, gone.name) == ("suspicious", "gone")
    assert "No such file" in gone.coverage.gaps[0].reason


def test_worker_that_is_killed_costs_one_target(tmp_path: Path) -> None:
    targets = _skills(tmp_path, 12)
    killed: list[int] = []

    def kill_first(_: Report) -> None:
        if not killed:
            killed.extend(one.pid for one in multiprocessing.active_children() if one.pid)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    reports = list(scan_many(targets, jobs=2, watch=kill_first))

    assert [report.path for report in reports] == [target.path for target in targets]
    lost = [report for report in reports if report.failed]
    assert len(lost) == len(killed) == 2
    assert {report.coverage.gaps[0].reason for report in lost} == {"The process that scanned it died (SIGKILL)"}
    assert multiprocessing.active_children() == []


def test_workers_are_gone_when_nobody_wants_more(tmp_path: Path) -> None:
    reports = scan_many(_skills(tmp_path, 9), jobs=2)
    next(reports)

    reports.close()  # type: ignore[attr-defined]

    assert multiprocessing.active_children() == []


def test_every_report_is_told_of_once(tmp_path: Path) -> None:
    told: list[Report] = []

    reports = list(scan_many(_skills(tmp_path, 5), jobs=2, watch=told.append))

    assert sorted(told, key=lambda one: one.path) == reports


def test_few_targets_need_no_process() -> None:
    assert choose_jobs(FEW) == 1
    assert choose_jobs(FEW + 1) == min(os.cpu_count() or 1, 8)
    assert choose_jobs(3, 8) == 3
    assert choose_jobs(0, 8) == 1
    assert choose_jobs(10_000, 10_000) == 64


def test_what_lies_outside_the_skills_of_a_folder_is_scanned_without_them(tmp_path: Path) -> None:
    skills = _skills(tmp_path, 2)
    (tmp_path / "notes.txt").write_text("outside\n")

    rest = scan_target(ScannedPath(str(tmp_path), tuple(one.path for one in skills)))

    assert rest.coverage.files == 1
    assert rest.name == f"{tmp_path.name} (outside its skills)"


def test_processes_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    (target,) = _skills(tmp_path, 1)
    here = tmp_path / "here"
    here.mkdir()
    for name in ("multiprocessing", "pickle", "clawft"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import threading\n"
        "from clawft.scanner.batch import ScannedPath\n"
        "from clawft.scanner.processes import scan_in_processes\n"
        "if __name__ == '__main__':\n"
        "    ended = threading.Event()\n"
        "    threading.Thread(target=ended.wait, daemon=True).start()  # so that no process is forked\n"
        f"    print([report.verdict for _, report in scan_in_processes([ScannedPath({target.path!r})], 1)])\n"
    )
    done = subprocess.run([sys.executable, program], cwd=here, capture_output=True, text=True, check=True, timeout=60)
    assert not (tmp_path / "imported").exists()
    assert done.stdout == "['clean']\n"
