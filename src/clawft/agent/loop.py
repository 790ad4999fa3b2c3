"""The loop of one turn: classify, route, assemble, transport, score. It yields events and always ends with
TurnFinished or TurnFailed.
"""

import asyncio
import math
import os
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial

import anyio
from anyio import lowlevel

from clawft.agent.answer import ask_whole
from clawft.agent.compaction import compact_now, fit_window
from clawft.agent.model_call import ModelAnswer, warn_records_unavailable
from clawft.agent.model_choice import route
from clawft.agent.prompt import assemble, join_tools
from clawft.agent.records import work_on
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation, Runtime, Stage, Turn, run_inserted
from clawft.agent.sessions import TurnStatus
from clawft.agent.text_limits import append_message
from clawft.agent.tool_calls import run_calls
from clawft.agent.turn_hooks import run_message_hooks, run_sent_hooks, run_session_hooks, run_stop_hooks
from clawft.contracts import Phase
from clawft.errors import ClawftError, Refused
from clawft.messages import Event, Message, TurnFailed, TurnFinished


async def score(turn: Turn) -> None:
    turn.score = score_turn(turn.stop, bool(turn.text), turn.calls.made, turn.calls.failed)


def score_turn(stop: str, answered: bool, calls: int, failed_calls: int) -> float:
    """An answer counts most; a cut or stopped turn, and tools that failed, take from it."""
    value = 1.0 if answered else 0.4
    value -= 0.4 if stop != "done" else 0
    value -= 0.4 * failed_calls / calls if calls else 0
    return round(max(value, 0.0), 3)


async def record_skill_use(turn: Turn) -> None:
    loaded = [activation.name for activation in turn.skills.active]
    stats, ledger = turn.runtime.usage.stats, turn.runtime.usage.ledger
    await work_on(ledger.records, ledger.write_booked, partial(warn_records_unavailable, turn))
    await work_on(
        stats.database,
        lambda: stats.record(turn.prompt.catalog.listed, loaded, turn.score),
        partial(warn_records_unavailable, turn),
    )


async def transport(turn: Turn) -> None:
    if turn.answer:
        await turn.answer(turn)
        return
    held = 0  # how often a hook had the model go on that was done
    limit = turn.agent.max_tool_iterations or turn.runtime.config.agents.defaults.max_tool_iterations
    for _ in range(limit):
        await lowlevel.checkpoint()  # a turn that was stopped asks nothing more
        await fit_window(turn)
        answer = await ask_whole(turn)
        # An answer without calls has a text, if only an empty one: servers refuse a message with neither.
        content = answer.text or (None if answer.calls else "")
        append_message(turn, Message("assistant", content, answer.calls, reasoning=answer.reasoning))
        turn.text = answer.text
        turn.stop = "length" if answer.stop == "length" else "done"
        if not answer.calls:
            _say_stop(turn, answer)
            if not await run_stop_hooks(turn, held):
                return
            held += 1
            continue
        for message in await run_calls(turn, answer.calls):
            append_message(turn, message)
        join_tools(turn)
    turn.stop = "max_iterations"
    notice = f"The turn was stopped after {limit} rounds of tools (max_tool_iterations)"
    turn.warn("max-iterations", notice, f'To go on, say so: weft agent --session {turn.session.key} -m "Go on"')


def _say_stop(turn: Turn, answer: ModelAnswer) -> None:
    if answer.stop == "length":
        message, hint = "The answer was cut at max_tokens", "Raise agents.defaults.max_tokens"
        turn.warn("answer-cut", message, hint)
    elif answer.stop == "refusal":
        turn.warn("model-refused", "The model declined to answer")
    elif not answer.text.strip():
        turn.warn("answer-empty", "The model answered nothing", "Ask again, or choose another model")


STAGES: tuple[Stage, ...] = (route, assemble, transport, score, record_skill_use)
# What comes before the transport is asked for each request that is sent: `model_call.prepare_request`.
_BEFORE: dict[Stage, Phase] = {route: Phase.PRE_ROUTE, assemble: Phase.PRE_ASSEMBLE}
_AFTER: dict[Stage, Phase] = {transport: Phase.POST_TRANSPORT, score: Phase.POST_SCORE}


async def run_stages(turn: Turn) -> None:
    """Every stage, each over the same turn."""
    await run_session_hooks(turn)
    await run_message_hooks(turn)
    await run_until_transport(turn)
    for stage in STAGES[STAGES.index(transport) :]:
        await _run(turn, stage)


async def run_until_transport(turn: Turn) -> None:
    """Run all stages that come before the model is called."""
    for stage in STAGES[: STAGES.index(transport)]:
        await _run(turn, stage)


async def compact_stages(turn: Turn) -> None:
    """A turn that only makes room: the same model is chosen, and asked for a summary."""
    await _run(turn, route)
    await compact_now(turn)


async def _run(turn: Turn, stage: Stage) -> None:
    await run_inserted(turn, _BEFORE.get(stage))
    await stage(turn)
    await run_inserted(turn, _AFTER.get(stage))


async def run_turn(
    conversation: Conversation, request: TurnRequest, stages: Stage = run_stages
) -> AsyncGenerator[Event]:
    """Run one turn and yield its events as they happen. Closing the generator ends the turn.

    The work runs in a task of its own, since a generator must not keep a cancel scope open across its yields. Raises:
    ClawftError when another turn of this conversation is still running.
    """

    def put(event: Event) -> None:
        with suppress(anyio.BrokenResourceError):  # nobody listens any more: what ends meanwhile tells nobody
            send.send_nowait(event)

    async def work() -> None:
        with send:
            await _work_turn(conversation, request, put, scope, stages)

    with conversation.start_turn() as scope:
        send, receive = anyio.create_memory_object_stream[Event](math.inf)
        worker = asyncio.create_task(work())
        try:
            with receive:
                async for event in receive:
                    yield event
        finally:
            worker.cancel()
            # What it started ends before it does.
            with anyio.CancelScope(shield=True), suppress(asyncio.CancelledError):
                await worker


async def compact(conversation: Conversation, model: str = "") -> AsyncGenerator[Event]:
    """Summarise all but the last turn now, whether or not the window is full."""
    async with aclosing(run_turn(conversation, TurnRequest("", model=model), compact_stages)) as events:
        async for event in events:
            yield event


async def work_turn(conversation: Conversation, request: TurnRequest, send: Callable[[Event], None]) -> None:
    """Run one turn in the task of the caller: whatever ends that ends the turn. Raises: ClawftError."""
    with conversation.start_turn() as scope:
        await _work_turn(conversation, request, send, scope, run_stages)


async def _work_turn(
    conversation: Conversation,
    request: TurnRequest,
    put: Callable[[Event], None],
    scope: anyio.CancelScope,
    stages: Stage,
) -> None:
    turn = conversation.running = Turn(conversation, request, put)
    status = "cancelled"
    try:
        with scope:
            turn.emit(await _run_loop(turn, stages))
            status = ""
    finally:
        try:
            if status:  # cancelled by the caller: keep what came so far
                _finish(turn, "cancelled")
        finally:
            await conversation.end_checkpoint()
    if scope.cancelled_caught:
        turn.emit(TurnFinished(text=turn.text, stop="cancelled", usage=turn.usage, refused=turn.calls.refused))


async def _run_loop(turn: Turn, stages: Stage) -> Event:
    """All stages; the event that tells how it ended, once that is on disk, and hooks know."""
    try:
        with turn.runtime.watch_turn():
            end = await _run_stages(turn, stages)
            await run_sent_hooks(turn, end)
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
    return TurnFinished(text=turn.text, stop=turn.stop, usage=turn.usage, refused=turn.calls.refused)


def _fail_inside(turn: Turn, error: Exception) -> TurnFailed:
    path = save_trace(turn.runtime, "".join(traceback.format_exception(error)))
    message = f"Something went wrong inside: {type(error).__name__}: {error}"
    return _fail(turn, ClawftError("internal", message, hint=f"The details are in {path}" if path else ""))


def save_trace(runtime: Runtime, trace: str) -> str:
    """Write the trace of a bug, without secrets, to a file of the user; where it is, or '' if it cannot be."""
    folder = os.path.join(runtime.workspace.user_dir, "logs")
    path = os.path.join(folder, f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.txt")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(runtime.secrets.mask(trace))
    except OSError:
        return ""
    return path


def _finish(turn: Turn, status: TurnStatus) -> None:
    """Write down that the turn is over, with what had come of an answer; a turn that never began leaves no trace."""
    if turn.partial:
        append_message(turn, Message("assistant", f"{turn.partial}\n\n[the answer broke off here]"))
    if turn.began:
        turn.session.finish_turn(turn.id, status, turn.usage, turn.route.model)
        turn.began = False  # whatever comes now, it is over


def _fail(turn: Turn, error: ClawftError) -> TurnFailed:
    with suppress(ClawftError):  # the disk may be the problem
        _finish(turn, "failed")
    if isinstance(error, Refused):
        skill, session = turn.request.skill, turn.session.key
        turn.runtime.audit.tell("denial", str(error), decision="deny", rule=error.code, skill=skill, session=session)
    return TurnFailed(code=error.code, message=str(error), hint=error.hint, exit_code=error.exit_code, usage=turn.usage)
