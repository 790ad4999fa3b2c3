"""The file: its tables, and how a file of an earlier version becomes one of this.

The version stands in `user_version`. Each step is one transaction, so that a process that is killed leaves a file of
one version or of the other; two that come at once take turns, and the second finds nothing left to do.
"""

import os
import sqlite3

from clawft.contracts import PluginError

__all__ = ["MIGRATIONS", "open_database"]

BUSY_S = 10.0
# What `words` and `parts` find is kept in `fact` alone; triggers keep the three in step, whoever writes.
_FACTS = """
CREATE TABLE fact (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL,
    metadata TEXT,
    changed TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) STRICT
"""
_INDEX = """
CREATE VIRTUAL TABLE {name} USING fts5(key, value, content='fact', content_rowid='id', tokenize='{tokenize}')
"""
_ADDED = """
CREATE TRIGGER fact_added_{name} AFTER INSERT ON fact BEGIN
    INSERT INTO {name}(rowid, key, value) VALUES (new.id, new.key, new.value);
END
"""
_REMOVED = """
CREATE TRIGGER fact_removed_{name} AFTER DELETE ON fact BEGIN
    INSERT INTO {name}({name}, rowid, key, value) VALUES ('delete', old.id, old.key, old.value);
END
"""
_CHANGED = """
CREATE TRIGGER fact_changed_{name} AFTER UPDATE ON fact BEGIN
    INSERT INTO {name}({name}, rowid, key, value) VALUES ('delete', old.id, old.key, old.value);
    INSERT INTO {name}(rowid, key, value) VALUES (new.id, new.key, new.value);
END
"""


def _index(name: str, tokenize: str) -> tuple[str, ...]:
    filled = [text.format(name=name, tokenize=tokenize) for text in (_INDEX, _ADDED, _REMOVED, _CHANGED)]
    return (*filled, f"INSERT INTO {name}({name}) VALUES ('rebuild')")  # of facts that are there already


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (_FACTS, *_index("words", "porter unicode61 remove_diacritics 2")),
    _index("parts", "trigram"),  # 2: what words do not find, as parts of them, and scripts without spaces
)


def open_database(path: str) -> sqlite3.Connection:
    """The file, made or brought up to date. Raises: PluginError if it cannot be used."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise PluginError(f"{path} cannot be opened: {error}") from error
    try:
        database.execute("PRAGMA journal_mode=WAL")  # who reads does not wait for who writes
        database.execute("PRAGMA synchronous=FULL")  # what was remembered is on disk, also when power fails
        _migrate(database, path)
    except sqlite3.Error as error:
        database.close()
        raise PluginError(f"{path} cannot be used: {error}", hint="Move it away to begin anew") from error
    except BaseException:
        database.close()
        raise
    return database


def _migrate(database: sqlite3.Connection, path: str) -> None:
    while (version := _version(database)) != len(MIGRATIONS):
        if version > len(MIGRATIONS):
            message = f"{path} is of version {version}; this plugin knows {len(MIGRATIONS)}"
            raise PluginError(message, hint="Upgrade the plugin")
        database.execute("BEGIN IMMEDIATE")
        try:
            if _version(database) == version:  # no other process was faster
                for statement in MIGRATIONS[version]:
                    database.execute(statement)
                database.execute(f"PRAGMA user_version={version + 1}")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")


def _version(database: sqlite3.Connection) -> int:
    found: int = database.execute("PRAGMA user_version").fetchone()[0]
    return found
