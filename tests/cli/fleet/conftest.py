"""What tests of fleets share: a user whose runs one worker does."""

from collections.abc import Iterator

import pytest

from fleet_world import FleetWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetWorld]:
    """One worker does what the tests of a module ask for."""
    made = FleetWorld(tmp_path_factory.mktemp("fleet"))
    try:
        with made.workers(1, 4) as (worker,):
            yield made
            assert worker.poll() is None, made.log()
    finally:
        made.end_workers()
