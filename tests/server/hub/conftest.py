"""A store to test on, in both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawft.server.hub.store import HubStore
from postgres import Postgres


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HubStore]:
    """An empty store: a folder, or a database of a server."""
    if request.param == "sqlite":
        opened = HubStore.open_folder(str(tmp_path / "hub"))
    else:
        server: Postgres = request.getfixturevalue("postgres")
        opened = HubStore.open_shared(server.url())
    yield opened
    opened.close()
