"""A finished turn survives SIGKILL at any moment of a run. `make soak` does the same for longer."""

import pytest

from soak_turns import main


@pytest.mark.soak
def test_no_finished_turn_is_lost_or_doubled_when_the_process_is_killed() -> None:
    assert main(kills=5) > 0
