"""The line of the memory: how long a search takes among many entries, in a process that runs on."""

import random
import statistics
from contextlib import closing
from itertools import accumulate
from pathlib import Path

from clawft.agent.memory import MemoryFiles
from make_skills import wait_until_settled
from measure import Timed, best_ms
from report import Line

ENTRIES = 50_000
LIMIT_MS = 20
ROUNDS = 3
_VOCABULARY = 20_000
_COMMON = 5  # the words that most texts share: stop words in a real text, which no query is made of


def measure_memory_search(folder: Path, entries: int = ENTRIES, queries: int = 60) -> Line:
    """The median over queries of two to four words, on an index that is built; `folder` is empty."""
    rng = random.Random(7)
    vocabulary = _make_words(rng)
    weights = list(accumulate(1 / (rank + 1) for rank in range(len(vocabulary))))
    text = rng.choices(vocabulary, cum_weights=weights, k=entries * 12)  # the n-th word n times as rare as the first
    _write_entries(folder, entries, text, rng)
    asked = [word for word in text if word not in vocabulary[:_COMMON]]
    with closing(MemoryFiles(str(folder))) as memory:
        memory.search(text[0])  # builds the index
        wait_until_settled()
        memory.search(text[0])
        took = [_time_ms(memory, " ".join(rng.choices(asked, k=rng.randint(2, 4)))) for _ in range(queries)]
    what = f"a search among {entries} memories: the median of {queries} queries, each the best of {ROUNDS}"
    return Line("memory-search", what, f"the limit, {LIMIT_MS} ms", statistics.median(took), LIMIT_MS, "ms", 1)


def _make_words(rng: random.Random) -> list[str]:
    """Words without meaning."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(_VOCABULARY)]


def _write_entries(folder: Path, entries: int, text: list[str], rng: random.Random) -> None:
    """Entries of 12 words each, and every word of the text in one of them."""
    with open(folder / "MEMORY.md", "w", encoding="utf-8") as file:
        for number in range(entries):
            words = text[number * 12 : number * 12 + 12]
            file.write(f"## {rng.choice(words)} {number}\n\n{' '.join(words)}.\n\n")


def _time_ms(memory: MemoryFiles, query: str) -> float:
    if not memory.search(query):
        raise SystemExit(f"error: the query '{query}' found nothing")
    (best,) = best_ms(ROUNDS, Timed(lambda: memory.search(query)))
    return best
