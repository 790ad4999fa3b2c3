"""A finished turn survives SIGKILL at any moment. `make soak` does the same for longer."""

from soak_sessions import TURNS, main


def test_no_finished_turn_is_lost_or_doubled_when_the_writer_is_killed() -> None:
    assert main(kills=5) >= TURNS - 5
