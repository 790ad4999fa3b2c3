"""Install, update and remove survive SIGKILL at any moment. `make soak` does the same a hundred times."""

from soak_install import MISSED, main


def test_a_killed_installation_leaves_the_old_state_or_the_new_one_and_the_next_command_cleans_up() -> None:
    ends = main(kills=10)
    assert ends.total() - ends[MISSED] == 10
