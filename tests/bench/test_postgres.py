"""The server that tests and measurements start: real, its own, and never left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from postgres import Postgres

OWNER = """
import sys
sys.path.insert(0, sys.argv[1])
from postgres import Postgres
with Postgres(sys.argv[2]) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


def test_what_was_committed_is_there_after_a_crash_of_the_server(postgres: Postgres) -> None:
    url = postgres.url()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept(n int)")
        connection.execute("INSERT INTO kept VALUES (1)")
    postgres.restart("immediate")
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchall() == [(1,)]
        assert connection.execute("SHOW fsync").fetchone() == ("on",)


def test_each_database_is_new_and_a_stopped_server_is_started_for_it(postgres: Postgres) -> None:
    first = postgres.url()
    postgres.stop()
    second = postgres.url()
    assert first != second
    with psycopg.connect(second) as connection:
        rows = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert rows.fetchone() == (0,)


def test_a_postgres_whose_owner_is_killed_ends_and_leaves_no_files(postgres: Postgres) -> None:
    # Not in tmp_path: the server's user may not enter that.
    parent = Path("/tmp", f"weft-postgres-owner-{os.getpid()}")
    parent.mkdir(mode=0o711)
    words = [sys.executable, "-c", OWNER, str(Path(__file__).parents[2] / "bench"), str(parent)]
    owner = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdin is not None
    assert owner.stdout is not None
    try:
        port = owner.stdout.readline().strip()
        (folder,) = parent.iterdir()
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait(60)
        deadline = time.monotonic() + 60
        while (folder / "data").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not (folder / "data").exists()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(f"postgresql://127.0.0.1:{port}/postgres", connect_timeout=2)
    finally:
        owner.kill()
        owner.communicate()
        for left in parent.iterdir():
            left.rmdir()
        parent.rmdir()
