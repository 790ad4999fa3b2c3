"""How facts are found: by their words, and by parts of words; both rankings are fused, so what both find comes first.

Words are stemmed and ranked by BM25, a word in the key counting four times. Parts are runs of three characters: they
find `deploy` in `redeployment`, a misspelt word by what is right of it, and Chinese and Japanese, which have no spaces.
"""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Sequence

__all__ = ["find_ranked"]

MAX_QUERY = 4_000  # characters
CANDIDATES = 100  # of each ranking
_AFFORDABLE = 4_000  # facts whose BM25 is worked out for one query
_FUSION = 60  # the usual constant: how little the first ranks stand out
_SHARED, _SHARED_CJK = 0.4, 0.25  # of a word's parts, how many a fact has that is found by them; a run is no word there
_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_COMMON = frozenset(
    _WORD.findall(
        "a about an and any are as at be been but by can could did do does for from get had has have how i if in into"
        " is it its me my no not of on or our should so that the their them then there these they this to up us was we"
        " were what when where which who why will with would you your"
    )
)


def find_ranked(database: sqlite3.Connection, query: str, limit: int) -> list[tuple[int, float]]:
    """The facts that fit a query, best first, each with a score up to 1."""
    text = query[:MAX_QUERY].encode("utf-8", "replace").decode().lower()
    words = [word for word in dict.fromkeys(_WORD.findall(text)) if word not in _COMMON]
    if limit < 1 or not words:
        return []
    size = max(CANDIDATES, limit)
    rankings = [_match_words(database, words, size), _match_parts(database, words, size)]
    return _fuse(rankings)[:limit]


def _match_words(database: sqlite3.Connection, words: Sequence[str], size: int) -> list[int]:
    chosen = _choose(database, "words", words)
    if not chosen:
        return []
    rows = database.execute(
        "SELECT rowid FROM words WHERE words MATCH ? AND rank MATCH 'bm25(4.0, 1.0)' ORDER BY rank LIMIT ?",
        (" OR ".join(map(_quote, chosen)), size),
    )
    return [identity for (identity,) in rows]


def _match_parts(database: sqlite3.Connection, words: Sequence[str], size: int) -> list[int]:
    """Facts that share enough of the runs of three characters with some word; short CJK words stand whole."""
    parts = {word: [word[at : at + 3] for at in range(len(word) - 2)] for word in words}
    short = [word for word, own in parts.items() if not own and _CJK.search(word)]
    wanted = list(dict.fromkeys(part for own in parts.values() for part in own))
    chosen = set(_choose(database, "parts", wanted))
    found: dict[int, float] = defaultdict(float)
    if chosen:
        rows = database.execute(
            "SELECT rowid, key || char(10) || value FROM parts WHERE parts MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(map(_quote, sorted(chosen))), size),
        ).fetchall()
        for identity, text in rows:
            lowered = text.lower()
            found[identity] = sum(_share(word, own, lowered) for word, own in parts.items() if own)
    for word in short:  # the index knows no run shorter than three
        like = (f"%{word}%", f"%{word}%", size)
        for (identity,) in database.execute("SELECT id FROM fact WHERE key LIKE ? OR value LIKE ? LIMIT ?", like):
            found[identity] += 1.0
    return [one for one, share in sorted(found.items(), key=lambda one: (-one[1], one[0])) if share]


def _share(word: str, parts: Sequence[str], text: str) -> float:
    """How much of a word a text has; 0 where that is too little to tell anything."""
    share = sum(part in text for part in parts) / len(parts)
    return share if share >= (_SHARED_CJK if _CJK.search(word) else _SHARED) else 0.0


def _choose(database: sqlite3.Connection, table: str, terms: Sequence[str]) -> list[str]:
    """The rarest terms, as far as ranking all they match stays quick; common ones tell little."""
    count = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
    held = {one: int(database.execute(count, (_quote(one), _AFFORDABLE)).fetchone()[0]) for one in terms[:200]}
    chosen: list[str] = []
    for term in sorted((one for one in held if held[one]), key=held.__getitem__):
        if chosen and sum(held[one] for one in chosen) + held[term] > _AFFORDABLE:
            break
        chosen.append(term)
    return chosen


def _fuse(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion, scaled so that the first of every ranking has 1; the last decides between equals."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, identity in enumerate(ranking):
            scores[identity] += (_FUSION + 1) / (_FUSION + 1 + rank) / len(rankings)
    last = {identity: rank for rank, identity in enumerate(rankings[-1])}
    ordered = sorted(scores.items(), key=lambda one: (-round(one[1], 9), last.get(one[0], len(last)), one[0]))
    return [(identity, min(1.0, score)) for identity, score in ordered]


def _quote(term: str) -> str:
    return f'"{term}"'
