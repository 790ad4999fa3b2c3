"""The pipeline: six stages in order, and what others inserted between them (R135)."""

from clawft.run.assemble import assemble
from clawft.run.classify import classify
from clawft.run.compact import compact_now
from clawft.run.hook_turn import receive, start_session
from clawft.run.learn import learn
from clawft.run.route import route
from clawft.run.score import score
from clawft.run.transport import transport
from clawft.run.turn import Phase, Stage, Turn, run_inserted

__all__ = ["STAGES", "compact_stages", "run_stages", "run_until_transport"]

STAGES: tuple[Stage, ...] = (classify, route, assemble, transport, score, learn)
# What comes before the transport is asked for each request that is sent: `ask.prepare`.
_BEFORE: dict[Stage, Phase] = {route: Phase.PRE_ROUTE, assemble: Phase.PRE_ASSEMBLE}
_AFTER: dict[Stage, Phase] = {transport: Phase.POST_TRANSPORT, score: Phase.POST_SCORE}


async def run_stages(turn: Turn) -> None:
    """Every stage, each over the same turn."""
    await start_session(turn)
    await receive(turn)
    await run_until_transport(turn)
    for stage in STAGES[STAGES.index(transport) :]:
        await _run(turn, stage)


async def run_until_transport(turn: Turn) -> None:
    """All that comes before the model is called."""
    for stage in STAGES[: STAGES.index(transport)]:
        await _run(turn, stage)


async def compact_stages(turn: Turn) -> None:
    """A turn that only makes room: the same model is chosen, and asked for a summary."""
    await _run(turn, classify)
    await _run(turn, route)
    await compact_now(turn)


async def _run(turn: Turn, stage: Stage) -> None:
    await run_inserted(turn, _BEFORE.get(stage))
    await stage(turn)
    await run_inserted(turn, _AFTER.get(stage))
