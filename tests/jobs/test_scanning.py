"""A batch of skills to scan, as a worker does it."""

from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, cast

import anyio
import msgspec
import pytest

from clawft.agent.run_request import RunRequest
from clawft.agent.tools.steps import TurnStep, TurnSteps
from clawft.errors import ClawftError
from clawft.jobs.recorded_run import DurableSteps
from clawft.jobs.scan_task import ScanBatch, ScanTarget, ScanTask, is_failed, read_reports

pytestmark = pytest.mark.anyio


class Kept(TurnSteps):
    """Steps that are kept as a run keeps them, in memory."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}

    async def run(self, step: TurnStep, work: Any, result: Any, *, at: str = "", doubt: Any = None) -> Any:
        if at not in self.done:
            self.done[at] = {"name": step.name, "result": await work()}
        return self.done[at]["result"]


@pytest.fixture
def task() -> Iterator[ScanTask]:
    made = ScanTask(None)
    yield made
    made.close()


def write(folder: Path) -> str:
    folder.mkdir()
    (folder / "SKILL.md").write_text("# A skill\n\nSweep the floor.\n")
    return str(folder)


def ask(*paths: str) -> RunRequest:
    batch = ScanBatch(tuple(ScanTarget(path) for path in paths))
    return RunRequest(kind="scan", cwd="/", task=msgspec.to_builtins(batch))


async def test_only_what_could_not_be_scanned_is_scanned_again(task: ScanTask, tmp_path: Path) -> None:
    here, there = write(tmp_path / "here"), str(tmp_path / "there")
    kept = Kept()
    steps = cast(DurableSteps, kept)

    with pytest.raises(ClawftError, match="1 of 2 could not be scanned") as caught:
        await task(ask(here, there), steps)
    assert caught.value.code == "scan-failed"
    assert [is_failed(one) for one in read_reports(list(kept.done.values()))] == [False, True]

    write(tmp_path / "there")
    assert await task(ask(here, there), steps) == "2 clean"
    assert [len(one["result"]) for one in kept.done.values()] == [2, 1]
    reports = read_reports(list(kept.done.values()))
    assert [(one["path"], is_failed(one)) for one in reports] == [(here, False), (there, False)]
    assert await task(ask(here, there), steps) == "2 clean", "and nothing is scanned a third time"


async def test_a_batch_that_is_cancelled_ends_at_once_and_the_next_one_is_done(task: ScanTask, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    write(slow)
    program = "".join(f"def f{line}(a):\n    return a + {line}\n" for line in range(2_000))
    for number in range(60):
        (slow / f"{number}.py").write_text(program)

    before = getrusage(RUSAGE_CHILDREN).ru_utime
    with anyio.move_on_after(0.3) as scope:
        await task(ask(str(slow)), cast(DurableSteps, TurnSteps()))
    assert scope.cancelled_caught

    with anyio.fail_after(60):
        assert await task(ask(write(tmp_path / "next")), cast(DurableSteps, TurnSteps())) == "1 clean"
    assert getrusage(RUSAGE_CHILDREN).ru_utime - before < 3, "all of it takes much longer"
