"""Workers are killed at random moments: a tenth of `make soak`."""

import random
from pathlib import Path

import pytest

from chaos import Chaos, ten_steps
from soak_runs import Soak

SEED = 20


@pytest.mark.unmeasured
def test_all_runs_finish_and_no_step_is_repeated_however_workers_are_killed(tmp_path: Path) -> None:
    with Chaos(tmp_path, script=lambda label, place: ten_steps(label, place, 0.1), runs="concurrency = 8") as chaos:
        soak = Soak(chaos, 2, random.Random(SEED))
        soak.run(12, 3)
        wrong = soak.check()
    print(soak.summary())
    assert wrong == []
    assert soak.kills >= 3
    assert soak.counts["effects"] >= 20
