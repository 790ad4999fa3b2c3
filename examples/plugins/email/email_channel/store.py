"""What the channel remembers, in a file of its data folder: which mails belong together, what was sent, how far it got.

A thread belongs to one sender: a mail that names the mails of somebody else's thread begins one of its own.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

__all__ = ["Progress", "Store", "make_conversation"]

_KEPT = 50_000  # mails, and as many answers
_TABLES = """
create table if not exists mail (id integer primary key, sender text, message_id text, conversation text,
    unique (sender, message_id));
create table if not exists sent (id integer primary key, key text unique);
create table if not exists progress (mailbox text primary key, uid_validity integer, next_uid integer, day text);
"""


@dataclass(frozen=True)
class Progress:
    """Up to where a mailbox was read, and on which day."""

    uid_validity: int
    next_uid: int
    day: str


class Store:
    """May be used by several threads."""

    def __init__(self, folder: str) -> None:
        self._lock = Lock()
        self._database = sqlite3.connect(Path(folder, "email.db"), check_same_thread=False, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def find_conversation(self, sender: str, references: tuple[str, ...]) -> str | None:
        """The conversation in which one of these mails was exchanged with this sender, the newest first."""
        for message_id in reversed(references):
            row = self._get("select conversation from mail where sender = ? and message_id = ?", sender, message_id)
            if row is not None:
                return str(row[0])
        return None

    def remember(self, sender: str, message_id: str, conversation: str) -> None:
        """A mail belongs to a conversation."""
        if message_id:
            self._put("insert or ignore into mail (sender, message_id, conversation) values (?, ?, ?)",
                      sender, message_id, conversation)  # fmt: skip
            self._put("delete from mail where id <= (select max(id) from mail) - ?", _KEPT)

    def was_sent(self, key: str) -> bool:
        return self._get("select 1 from sent where key = ?", key) is not None

    def remember_sent(self, key: str) -> None:
        self._put("insert or ignore into sent (key) values (?)", key)
        self._put("delete from sent where id <= (select max(id) from sent) - ?", _KEPT)

    def load_progress(self, mailbox: str) -> Progress | None:
        row = self._get("select uid_validity, next_uid, day from progress where mailbox = ?", mailbox)
        return None if row is None else Progress(int(row[0]), int(row[1]), str(row[2]))

    def save_progress(self, mailbox: str, progress: Progress) -> None:
        self._put("insert or replace into progress values (?, ?, ?, ?)",
                  mailbox, progress.uid_validity, progress.next_uid, progress.day)  # fmt: skip

    def _get(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with self._lock, closing(self._database.execute(query, values)) as cursor:
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row

    def _put(self, query: str, *values: object) -> None:
        with self._lock:
            self._database.execute(query, values).close()


def make_conversation(sender: str, root: str) -> str:
    """The name of the conversation of a sender that began with a mail."""
    return f"{sender}/{sha256(root.encode()).hexdigest()[:20]}"
