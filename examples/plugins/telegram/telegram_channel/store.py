"""What the channel remembers, in a file of its data folder: how far it got, and how much of each answer went out."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any

__all__ = ["ALL", "Store"]

ALL = 1 << 30

_KEPT = 50_000  # answers
# After a week without news Telegram numbers from somewhere else, and what is kept would stand in the way.
_GOOD_FOR_S = 6 * 86_400
_TABLES = """
create table if not exists offset (bot integer primary key, next integer, at real);
create table if not exists kept (bot integer, number integer, data text, primary key (bot, number));
create table if not exists sent (id integer primary key, key text unique, parts integer);
"""


class Store:
    """May be used by several threads."""

    def __init__(self, folder: str) -> None:
        self._lock = Lock()
        self._database = sqlite3.connect(Path(folder, "telegram.db"), check_same_thread=False, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def load_offset(self, bot: int) -> int | None:
        """The first update that was not handed in yet; None where that is not known, and Telegram knows better."""
        row = self._get("select next from offset where bot = ? and at > ?", bot, time.time() - _GOOD_FOR_S)
        return None if row is None else int(row[0])

    def save_offset(self, bot: int, following: int) -> None:
        self._put("insert or replace into offset values (?, ?, ?)", bot, following, time.time())

    def load_kept(self, bot: int) -> dict[int, dict[str, Any]]:
        """Updates that Telegram forgot, and that were not handed in yet."""
        with self._lock, closing(self._database.execute("select number, data from kept where bot = ?", (bot,))) as rows:
            return {int(number): json.loads(data) for number, data in rows}

    def save_kept(self, bot: int, kept: dict[int, dict[str, Any]]) -> None:
        rows = [(bot, number, json.dumps(update)) for number, update in kept.items()]
        with self._lock:
            self._database.execute("begin").close()
            try:
                self._database.execute("delete from kept where bot = ?", (bot,)).close()
                self._database.executemany("insert into kept values (?, ?, ?)", rows).close()
                self._database.execute("commit").close()
            except BaseException:
                self._database.execute("rollback").close()
                raise

    def count_sent(self, key: str) -> int:
        """How many parts of an answer went out for certain; `ALL` if it is done."""
        row = self._get("select parts from sent where key = ?", key)
        return 0 if row is None else int(row[0])

    def remember_sent(self, key: str, parts: int) -> None:
        self._put("insert into sent (key, parts) values (?, ?) on conflict (key) do update set parts = excluded.parts",
                  key, parts)  # fmt: skip
        self._put("delete from sent where id <= (select max(id) from sent) - ?", _KEPT)

    def _get(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with self._lock, closing(self._database.execute(query, values)) as cursor:
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row

    def _put(self, query: str, *values: object) -> None:
        with self._lock:
            self._database.execute(query, values).close()
