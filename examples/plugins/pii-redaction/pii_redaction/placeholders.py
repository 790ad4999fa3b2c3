"""Which placeholder stands for what: the same one for the same value, as long as a session lasts, after a restart too.

The values themselves are not kept: only what a secret key makes of them, which tells that two are the same.
"""

import hashlib
import os
import sqlite3
import threading

from clawft.contracts import PluginError

__all__ = ["Placeholders", "SessionPlaceholders"]

MAX_KEPT = 200_000  # values; the oldest are forgotten
BUSY_S = 10.0
_TABLE = """
CREATE TABLE IF NOT EXISTS placeholder (
    id INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    kind TEXT NOT NULL,
    value BLOB NOT NULL,
    number INTEGER NOT NULL,
    UNIQUE (session, kind, value)
) STRICT
"""


class Placeholders:
    """All sessions, in one file that several processes may share."""

    def __init__(self, path: str) -> None:
        """Raises: PluginError."""
        try:
            self._key = _load_key(f"{path}.key")
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
            self._database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(_TABLE)
            self._database.execute(
                "DELETE FROM placeholder WHERE id <= (SELECT coalesce(max(id), 0) FROM placeholder) - ?", (MAX_KEPT,)
            )
        except (OSError, sqlite3.Error) as error:
            raise PluginError(f"What stands for what cannot be kept: {error}") from error
        self._lock = threading.Lock()
        self._sessions: dict[str, SessionPlaceholders] = {}

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def of(self, session: str) -> "SessionPlaceholders":
        """Those of one session."""
        with self._lock:
            if len(self._sessions) > 1000:
                self._sessions.clear()
            return self._sessions.setdefault(session, SessionPlaceholders(self, session))

    def digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()

    def number(self, session: bytes, kind: str, value: bytes) -> int:
        """The number of a value, a new one if it has none. Whoever asks at once gets the same."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                found = self._find(session, kind, value)
                if found is None:
                    last = "SELECT coalesce(max(number), 0) FROM placeholder WHERE session = ? AND kind = ?"
                    found = int(self._database.execute(last, (session, kind)).fetchone()[0]) + 1
                    self._database.execute(
                        "INSERT INTO placeholder(session, kind, value, number) VALUES (?, ?, ?, ?)",
                        (session, kind, value, found),
                    )
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
            return found

    def _find(self, session: bytes, kind: str, value: bytes) -> int | None:
        known = "SELECT number FROM placeholder WHERE session = ? AND kind = ? AND value = ?"
        row = self._database.execute(known, (session, kind, value)).fetchone()
        return int(row[0]) if row else None


class SessionPlaceholders:
    """The placeholders of one session and what is forked from it."""

    def __init__(self, all_of_them: Placeholders, session: str) -> None:
        self._all = all_of_them
        self._session = all_of_them.digest(session)
        self._known: dict[tuple[str, str], str] = {}

    def get(self, kind: str, plain: str) -> str:
        """What stands for a value, as [EMAIL_1]."""
        known = self._known.get((kind, plain))
        if known is None:
            number = self._all.number(self._session, kind, self._all.digest(f"{kind} {plain}"))
            known = self._known[kind, plain] = f"[{kind}_{number}]"
        return known


def _load_key(path: str) -> bytes:
    """The key of this installation; made at first. Raises: OSError."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(os.urandom(32))
    except FileExistsError:
        pass
    with open(path, "rb") as file:
        key = file.read(64)
    if len(key) != 32:
        raise OSError(f"{path} is damaged; remove it, and what stands for what begins anew")
    return key
