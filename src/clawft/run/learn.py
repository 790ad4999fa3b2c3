"""Stage 6, learn: count which skills were offered and loaded, and how it went. The next catalog is ranked by it."""

from clawft.run.turn import Turn

__all__ = ["learn"]


async def learn(turn: Turn) -> None:
    loaded = [one.name for one in turn.skills.active]
    turn.runtime.stats.record(turn.catalog.listed, loaded, turn.score)
