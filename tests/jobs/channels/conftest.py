"""What tests of the gateway share: its parts on a real database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway_desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.runs.close()
