"""Stage 6, learn: count which skills were offered and loaded, and how it went. The next catalog is ranked by it."""

from functools import partial

from clawft.run.ask import warn_away
from clawft.run.database import work_on
from clawft.run.turn import Turn

__all__ = ["learn"]


async def learn(turn: Turn) -> None:
    loaded = [one.name for one in turn.skills.active]
    stats, ledger = turn.runtime.stats, turn.runtime.ledger
    await work_on(ledger.records, ledger.write_booked, partial(warn_away, turn))
    await work_on(
        stats.database, lambda: stats.record(turn.catalog.listed, loaded, turn.score), partial(warn_away, turn)
    )
