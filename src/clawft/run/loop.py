"""The loop: one turn as an async generator of events. It ends with TurnFinished or TurnFailed, always."""

import asyncio
import math
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from clawft.errors import ClawftError, Refused
from clawft.messages import Event, Message, TurnFailed, TurnFinished
from clawft.run.hook_turn import tell_sent
from clawft.run.pipeline import run_stages
from clawft.run.turn import Stage, Turn
from clawft.sessions import Status

__all__ = ["run_turn", "work_turn"]


async def run_turn(
    make: Callable[[Callable[[Event], None]], Turn], scope: anyio.CancelScope, stages: Stage = run_stages
) -> AsyncGenerator[Event]:
    """Events as they happen. Cancelling `scope` ends the turn in order; closing the generator just ends it.

    The work runs in a task of its own, since a generator must not keep a cancel scope open across its yields.
    """
    send, receive = anyio.create_memory_object_stream[Event](math.inf)

    def put(event: Event) -> None:
        with suppress(anyio.BrokenResourceError):  # nobody listens any more: what ends meanwhile tells nobody
            send.send_nowait(event)

    worker = asyncio.create_task(_work(make(put), scope, send, stages))
    try:
        with receive:
            async for event in receive:
                yield event
    finally:
        worker.cancel()
        with anyio.CancelScope(shield=True), suppress(asyncio.CancelledError):  # what it started ends before it does
            await worker


async def _work(turn: Turn, scope: anyio.CancelScope, send: MemoryObjectSendStream[Event], stages: Stage) -> None:
    with send:
        await work_turn(turn, scope, stages)


async def work_turn(turn: Turn, scope: anyio.CancelScope, stages: Stage) -> None:
    """All of a turn, in the task of the caller. Its events go where the turn sends them."""
    status = "cancelled"
    try:
        with scope:
            turn.emit(await _run(turn, stages))
            status = ""
    finally:
        if status:  # whoever cancelled: what came so far is kept
            _finish(turn, "cancelled")
    if scope.cancelled_caught:
        turn.emit(TurnFinished(text=turn.text, stop="cancelled", usage=turn.usage, refused=turn.refused))


async def _run(turn: Turn, stages: Stage) -> Event:
    """All stages; the event that tells how it ended, once that is on disk, and hooks know."""
    try:
        end = await _run_stages(turn, stages)
        await tell_sent(turn, end)
    except Exception as error:  # a bug must not take the conversation with it
        return _fail_inside(turn, error)
    return end


async def _run_stages(turn: Turn, stages: Stage) -> TurnFinished | TurnFailed:
    try:
        await stages(turn)
        _finish(turn, "finished")
    except ClawftError as error:
        return _fail(turn, error)
    except Exception as error:
        return _fail_inside(turn, error)
    return TurnFinished(text=turn.text, stop=turn.stop, usage=turn.usage, refused=turn.refused)


def _fail_inside(turn: Turn, error: Exception) -> TurnFailed:
    path = turn.runtime.keep_trace("".join(traceback.format_exception(error)))
    message = f"Something went wrong inside: {type(error).__name__}: {error}"
    return _fail(turn, ClawftError("internal", message, hint=f"The details are in {path}" if path else ""))


def _finish(turn: Turn, status: Status) -> None:
    """Write down that the turn is over, with what had come of an answer; a turn that never began leaves no trace."""
    if turn.partial:
        turn.append(Message("assistant", f"{turn.partial}\n\n[the answer broke off here]"))
    if turn.began:
        turn.session.finish_turn(turn.id, status, turn.usage, turn.model)
        turn.began = False  # whatever comes now, it is over


def _fail(turn: Turn, error: ClawftError) -> TurnFailed:
    with suppress(ClawftError):  # the disk may be the problem
        _finish(turn, "failed")
    if isinstance(error, Refused):
        skill, session = turn.request.skill, turn.session.key
        turn.runtime.audit.tell("denial", str(error), decision="denied", rule=error.code, skill=skill, session=session)
    return TurnFailed(code=error.code, message=str(error), hint=error.hint, exit_code=error.exit_code, usage=turn.usage)
