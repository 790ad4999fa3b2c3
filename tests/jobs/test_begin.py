"""Taking a run: who is the first to do so, whatever the clock says."""

from pathlib import Path

from clawft.agent.run_request import RunRequest
from clawft.config.jobs import RunsSettings
from clawft.jobs.runs import Runs


def test_only_the_first_worker_takes_a_run_as_new_even_if_the_clock_jumped_back_since(tmp_path: Path) -> None:
    runs = Runs(RunsSettings(), str(tmp_path), {})
    try:
        run = runs.start(RunRequest(kind="agent", cwd=str(tmp_path), text="go"))
        taken = [runs.store.begin(run, 1, "a")]
        assert runs.store.update(run, 1, started="2999-01-01T00:00:00.000Z")
        taken.append(runs.store.begin(run, 1, "b"))
        assert [(one[0].worker, one[1]) for one in taken if one] == [("a", True), ("b", False)]
        assert runs.store.begin(run, 2, "c") is None
    finally:
        runs.close()
