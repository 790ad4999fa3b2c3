"""Opening the database of runs, whoever else does so."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import sqlalchemy as sa

from clawft.run.durable.database import open_engine
from clawft.run.durable.tables import METADATA

AT_ONCE = 6


def test_all_who_open_a_new_database_at_once_find_all_tables(tmp_path: Path) -> None:
    for number in range(5):
        url = sa.URL.create("sqlite", database=str(tmp_path / f"{number}.sqlite"))
        gate = Barrier(AT_ONCE)

        def begin(url: sa.URL = url, gate: Barrier = gate) -> set[str]:
            gate.wait(10)
            engine = open_engine(url)
            try:
                return set(sa.inspect(engine).get_table_names())
            finally:
                engine.dispose()

        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = [one.result() for one in [pool.submit(begin) for _ in range(AT_ONCE)]]
        assert all(set(METADATA.tables) <= tables for tables in found)
