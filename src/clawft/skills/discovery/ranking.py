"""Ranking of skills for a request: SQLite's FTS5 over names, descriptions and tags, ranked by BM25."""

import re
from collections.abc import Iterable
from contextlib import closing

from msgspec import Struct

from clawft.config.sqlite import IN_MEMORY, open_sqlite, write_transaction
from clawft.skills.parse.model import Skill

_WORD = re.compile(r"\w+")
_WEIGHTS = "8.0, 3.0, 4.0"  # name, description, tags
_MAX_TERMS = 64
STOP_WORDS = frozenset(
    """a about all an and any are as at be been but by can could did do does for from get give go had has have help
    her him his how i if in into is it its just let like make may me more my need new no not of on one or our out please
    she should so some than that the their them then there these they this to up us use using want was we were what when
    where which who why will with would you your""".split()  # noqa: SIM905  (words are read as words)
)


class RankedSkill(Struct, frozen=True):
    """A skill and how well it fits; higher is better."""

    skill: Skill
    score: float


def match_context(request: str, skills: Iterable[Skill], limit: int = 10) -> tuple[RankedSkill, ...]:
    """The skills whose name, description or tags share words with a request, best first."""
    query = _query(request)
    candidates = tuple(skills)
    if not query or not candidates:
        return ()
    with closing(open_sqlite(IN_MEMORY)) as database, write_transaction(database):
        database.execute("CREATE VIRTUAL TABLE skill USING fts5(name, description, tags, tokenize='porter unicode61')")
        database.executemany(
            "INSERT INTO skill(rowid, name, description, tags) VALUES (?, ?, ?, ?)",
            map(_row, range(len(candidates)), candidates),
        )
        rows = database.execute(
            f"SELECT rowid, bm25(skill, {_WEIGHTS}) AS cost FROM skill WHERE skill MATCH ? ORDER BY cost LIMIT ?",
            (query, limit),
        ).fetchall()
    return tuple(RankedSkill(candidates[index], round(-cost, 4)) for index, cost in rows)


def find_significant_words(request: str) -> list[str]:
    """The words of a request, each once, without those that every text has; all of them if there are no others."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(request.replace("_", " "))))
    return ([word for word in words if word not in STOP_WORDS] or words)[:_MAX_TERMS]


def _query(request: str) -> str:
    """The words of a request, quoted so that none is an operator; any of them may match."""
    return " OR ".join(f'"{word}"' for word in find_significant_words(request))


def _row(index: int, skill: Skill) -> tuple[int, str, str, str]:
    name = f"{skill.name.replace('-', ' ')} {skill.display_name}"
    tags = " ".join((*skill.tags, *skill.triggers, skill.category, skill.interface.short_description))
    return index, name, f"{skill.description} {skill.when_to_use}", tags
