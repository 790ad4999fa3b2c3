"""Taking time: the thing and its baseline in turn, the best of several rounds of each."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Timed:
    """Work to take the time of. `before` runs untimed ahead of each round; the time is divided by `per`."""

    run: Callable[[], object]
    before: Callable[[], None] = _nothing
    per: int = 1


def best_ms(rounds: int, *works: Timed) -> list[float]:
    """The least milliseconds of each work, measured A B A B …, so that what disturbs one disturbs the other."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            best[index] = min(best[index], _time_ms(work))
    return best


def _time_ms(work: Timed) -> float:
    work.before()
    gc.collect()
    start = time.perf_counter()
    result = work.run()
    elapsed = time.perf_counter() - start
    del result  # taking it apart is not part of the work
    return elapsed * 1000 / work.per
