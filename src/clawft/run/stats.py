"""How skills are used: offered, loaded, and how the turns went. The catalog's ranking reads it."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import datetime

from msgspec import Struct

from clawft.files import is_there
from clawft.run.database import Database

__all__ = ["SkillUse", "Stats", "load_uses"]

_TABLE = """CREATE TABLE IF NOT EXISTS skill(
    name TEXT PRIMARY KEY, offered INTEGER NOT NULL DEFAULT 0, loaded INTEGER NOT NULL DEFAULT 0,
    score REAL NOT NULL DEFAULT 0, last_loaded TEXT NOT NULL DEFAULT '')"""
_OFFERED = "INSERT INTO skill(name, offered) VALUES (?, 1) ON CONFLICT(name) DO UPDATE SET offered = offered + 1"
_LOADED = """INSERT INTO skill(name, loaded, score, last_loaded) VALUES (?1, 1, ?2, ?3) ON CONFLICT(name)
    DO UPDATE SET loaded = loaded + 1, score = score + ?2, last_loaded = ?3"""


class SkillUse(Struct, frozen=True):
    """One skill's record. `score` is the mean, 0 to 1, over the turns it was loaded in."""

    name: str
    offered: int = 0
    loaded: int = 0
    score: float = 0.0
    last_loaded: str = ""


class Stats:
    """Counts in one SQLite file."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self.now = now
        self.database = database
        database.prepare(_TABLE)

    def record(self, offered: Iterable[str], loaded: Iterable[str], score: float) -> None:
        """Count one turn."""
        at = self.now().isoformat(timespec="seconds")
        with self.database.transaction():
            self.database.execute_many(_OFFERED, [(name,) for name in offered])
            self.database.execute_many(_LOADED, [(name, score, at) for name in loaded])

    def load(self) -> Mapping[str, SkillUse]:
        """Every skill that was ever offered or loaded."""
        rows = self.database.execute("SELECT name, offered, loaded, score, last_loaded FROM skill")
        return {
            name: SkillUse(name, offered, loaded, round(score / loaded, 3) if loaded else 0.0, last)
            for name, offered, loaded, score, last in rows
        }


def load_uses(path: str) -> dict[str, SkillUse]:
    """How skills were used, by name; nothing before the first turn."""
    if not is_there(path):
        return {}
    with closing(Database(path)) as database:
        return dict(Stats(database, datetime.now).load())
