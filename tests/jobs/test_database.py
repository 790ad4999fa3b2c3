"""Opening the database of runs, whoever else does so."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import sqlalchemy as sa

from clawft.config.jobs import RunsSettings
from clawft.errors import ClawftError
from clawft.jobs.database import FORMAT, METADATA, make_url, open_engine
from clawft.jobs.postgres_records import SharedRecords
from postgres import Postgres

AT_ONCE = 6


def test_all_who_open_a_new_database_at_once_find_all_tables(tmp_path: Path) -> None:
    for number in range(5):
        url = sa.URL.create("sqlite", database=str(tmp_path / f"{number}.sqlite"))
        gate = Barrier(AT_ONCE)

        def begin(url: sa.URL = url, gate: Barrier = gate) -> set[str]:
            gate.wait(60)
            engine = open_engine(url)
            try:
                return set(sa.inspect(engine).get_table_names())
            finally:
                engine.dispose()

        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = [one.result() for one in [pool.submit(begin) for _ in range(AT_ONCE)]]
        assert all(set(METADATA.tables) <= tables for tables in found)


def test_tables_in_a_postgres_get_one_version_and_a_newer_one_is_left_alone(postgres: Postgres) -> None:
    url = make_url(RunsSettings(database=postgres.url()), "", {})
    gate = Barrier(AT_ONCE)

    def begin() -> None:
        gate.wait(30)
        open_engine(url).dispose()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for opened in [pool.submit(begin) for _ in range(AT_ONCE)]:
            opened.result()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        assert connection.execute(sa.select(FORMAT)).all() == [(1, 1)]
        METADATA.tables["weft_fleet"].drop(connection)
        connection.execute(FORMAT.update().values(version=9))
    said = r"was written by a newer weft \(format 9; this weft reads up to 1\)"
    with pytest.raises(ClawftError, match=f"The database of runs {said}"):
        open_engine(url)
    records = SharedRecords(url)
    with pytest.raises(ClawftError, match=f"The shared record of costs {said}"):
        records.prepare("CREATE TABLE weft_call(id INTEGER)")
    assert {"weft_fleet", "weft_call"}.isdisjoint(sa.inspect(engine).get_table_names())
    records.close()
    engine.dispose()


def test_tables_that_were_made_before_there_was_a_version_are_of_the_first(postgres: Postgres) -> None:
    url = make_url(RunsSettings(database=postgres.url()), "", {})
    engine = open_engine(url)
    with engine.begin() as connection:
        FORMAT.drop(connection)
    open_engine(url).dispose()
    with engine.connect() as connection:
        assert connection.execute(sa.select(FORMAT)).all() == [(1, 1)]
    engine.dispose()
