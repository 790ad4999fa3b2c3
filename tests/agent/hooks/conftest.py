"""What tests of hooks share: a world to run turns in."""

from pathlib import Path

import pytest

from world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
