"""What becomes of a worker whose database goes away for good."""

from pathlib import Path

import pytest

from runs_world import RunsWorld


@pytest.mark.unmeasured
def test_a_worker_ends_when_its_file_is_removed_and_says_so(tmp_path: Path) -> None:
    world = RunsWorld(tmp_path, [{"text": "Done."}], runs="lease_s = 1\n")
    with world.workers(1, 1) as (worker,):
        world.wait_for_workers(1)
        for one in (world.user_dir / "runs").glob("runs.sqlite*"):
            one.unlink()
        assert worker.wait(60) == 0
    assert "runs-gone" in world.log()
    assert "removed or replaced, so this worker ends" in world.log()
