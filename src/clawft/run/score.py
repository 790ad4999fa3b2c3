"""Stage 5, score: how well did the turn go? From 0 to 1, from what can be counted."""

from clawft.run.turn import Turn

__all__ = ["score", "score_turn"]


async def score(turn: Turn) -> None:
    turn.score = score_turn(turn.stop, bool(turn.text), turn.calls, turn.failed_calls)


def score_turn(stop: str, answered: bool, calls: int, failed_calls: int) -> float:
    """An answer counts most; a cut or stopped turn, and tools that failed, take from it."""
    value = 1.0 if answered else 0.4
    value -= 0.4 if stop != "done" else 0
    value -= 0.4 * failed_calls / calls if calls else 0
    return round(max(value, 0.0), 3)
