"""What tests of the daemon share: a world to open it in."""

from pathlib import Path

import pytest

from serve_world import ServeWorld


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes a minute, most of it waiting, begins first: else all others wait for it in the end."""
    items.sort(key=lambda item: item.path != Path(__file__).with_name("test_soak.py"))


@pytest.fixture
def world(tmp_path: Path) -> ServeWorld:
    return ServeWorld(tmp_path)
