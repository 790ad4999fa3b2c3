"""What tests of the daemon share: a world to open it in."""

from pathlib import Path

import pytest

from serve_world import ServeWorld


@pytest.fixture
def world(tmp_path: Path) -> ServeWorld:
    return ServeWorld(tmp_path)
