"""A worker opens the user's databases once for each project. Another process must never take one for left behind."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from clawft.agent.memory.index import MemoryIndex
from clawft.app.app import open_app
from clawft.app.runtime import open_usage
from clawft.jobs.database import open_engine

LOOK = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("SELECT count(*) FROM sqlite_master").fetchall()
database.close()
"""


def use_costs(path: str) -> AbstractContextManager[Any]:
    folder = Path(path).parent
    usage = open_usage(open_app({"HOME": str(folder), "CLAWFT_HOME": str(folder)}, str(folder)))
    usage.prepare("CREATE TABLE IF NOT EXISTS used(name TEXT)")
    return closing(usage)


def use_runs(path: str) -> AbstractContextManager[Any]:
    engine = open_engine(sa.make_url(f"sqlite:///{path}"))
    return closing(engine.connect())


def use_memory(path: str) -> AbstractContextManager[Any]:
    return closing(MemoryIndex(path, 3))


@pytest.mark.parametrize(
    ("name", "use"), [("usage.sqlite", use_costs), ("runs.sqlite", use_runs), ("memory.sqlite", use_memory)]
)
def test_what_is_open_twice_here_stays_open_for_others(
    tmp_path: Path, name: str, use: Callable[[str], AbstractContextManager[Any]]
) -> None:
    path = tmp_path / name
    with use(str(path)), use(str(path)):
        assert (tmp_path / f"{name}-wal").exists(), "what is written goes there first"
        subprocess.run([sys.executable, "-c", LOOK, str(path)], check=True, timeout=60)
        assert (tmp_path / f"{name}-wal").exists(), "the other process thought that it was the last one"
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert path.stat().st_mode & 0o077 == 0
