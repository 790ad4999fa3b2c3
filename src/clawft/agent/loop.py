"""The loop of one turn: classify, route, assemble, transport, score. It yields events and always ends with
TurnFinished or TurnFailed.
"""

import asyncio
import math
import os
import re
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial

import anyio
from anyio import lowlevel

from clawft.agent.compaction import compact_now, fit_window
from clawft.agent.ledger import Price
from clawft.agent.model_call import ModelAnswer, ask_model, warn_records_unavailable
from clawft.agent.prompt import assemble, join_tools
from clawft.agent.providers.request import ModelRequest, Stop, StreamCut
from clawft.agent.providers.selection import is_claude_alias, read_model
from clawft.agent.records import work_on
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation, ModelRoute, Runtime, Stage, Turn, run_inserted
from clawft.agent.sessions import TurnStatus
from clawft.agent.text_limits import append_message
from clawft.agent.tool_calls import run_calls
from clawft.agent.turn_hooks import run_message_hooks, run_sent_hooks, run_session_hooks, run_stop_hooks
from clawft.config import Config
from clawft.contracts import Phase
from clawft.errors import ClawftError, Refused
from clawft.messages import Event, Message, TextDelta, TurnFailed, TurnFinished, TurnStarted

_HARD = re.compile(
    r"\b(?:analy[sz]e|architect\w*|compare|debug|design|diagnose|explain why|implement|investigate|migrate|optimi[sz]e|"
    r"plan|prove|refactor|research|review|root cause|security|trade-?offs?|write a)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"^\s*(?:[-*]|\d+[.)])\s|\b(?:then|after that|finally|first|second|next)\b", re.MULTILINE | re.IGNORECASE
)


def measure_complexity(text: str, history: int = 0, images: int = 0) -> float:
    """Length, steps, verbs of hard work, code, pictures and how long the conversation is, added up."""
    score = min(len(text) / 4_000, 0.3)
    score += min(len(_HARD.findall(text)) * 0.12, 0.36)
    score += min(len(_STEPS.findall(text)) * 0.05, 0.2)
    score += 0.1 if "```" in text or "Traceback" in text else 0
    score += min(history / 200, 0.1) + min(images * 0.1, 0.2)
    return round(min(score, 1.0), 3)


async def route(turn: Turn) -> None:
    config, model = turn.runtime.config, choose_model(turn)
    provider, bare_model = turn.runtime.open_provider(model)
    window = turn.agent.context_window or find_window(config, model, bare_model)
    turn.route = ModelRoute(model, bare_model, provider, _find_price(config, model, bare_model), window)
    turn.emit(TurnStarted(turn=turn.id, model=model, agent=turn.agent.name))


def choose_model(turn: Turn) -> str:
    """The flag, then the skill that was started, then the agent, then the tier of this complexity, then the default."""
    if turn.request.model:
        return turn.request.model
    providers = turn.runtime.config.providers
    asked = read_model(turn.invoked.skill.model, providers) if turn.invoked else ""
    if asked:
        try:
            turn.runtime.check_model(asked)
        except ClawftError as error:
            message = f"The skill asks for the model '{asked}', which is not there: {error}"
            turn.warn("skill-model", message, error.hint)
        else:
            return asked
    asked = read_model(turn.agent.model, providers)
    if is_claude_alias(asked, providers):
        message = f"The agent asks for Claude's '{asked}', which is no model here; another one answers"
        turn.warn("agent-model", message, _ALIAS_HINT)
    elif asked:
        return _check_agent_model(turn, asked)
    request = turn.request
    complexity = measure_complexity(request.text, len(turn.session.messages), len(request.images))
    for tier in sorted(turn.runtime.config.agents.routing.tiers, key=lambda one: one.up_to):
        if complexity <= tier.up_to:
            return tier.model
    return turn.runtime.config.agents.defaults.model


_ALIAS_HINT = "Name a model as provider/model in the agent's file, or with --model"


def _check_agent_model(turn: Turn, model: str) -> str:
    """Check that an agent's model belongs to a configured provider, and return it. Raises: ClawftError."""
    try:
        turn.runtime.check_model(model)
    except ClawftError as error:
        message = f"The agent '{turn.agent.name}' asks for the model '{model}', which cannot be used: {error}"
        raise type(error)(error.code, message, hint=error.hint) from error
    return model


def find_window(config: Config, model: str, bare_model: str) -> int | None:
    """Tokens that fit the model, if the config knows."""
    provider = config.providers.get(model.partition("/")[0])
    known = provider.models.get(bare_model) if provider else None
    return config.agents.defaults.context_window or (known.context_window if known else None)


def _find_price(config: Config, model: str, bare_model: str) -> Price | None:
    provider = config.providers.get(model.partition("/")[0])
    known = provider.models.get(bare_model) if provider else None
    if known is None or known.input_usd_per_mtok is None or known.output_usd_per_mtok is None:
        return None
    return Price(known.input_usd_per_mtok, known.output_usd_per_mtok)


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


MAX_RESTARTS = 2  # of one model call whose answer broke off


async def transport(turn: Turn) -> None:
    if turn.answer:
        await turn.answer(turn)
        return
    held = 0  # how often a hook had the model go on that was done
    limit = turn.agent.max_tool_iterations or turn.runtime.config.agents.defaults.max_tool_iterations
    for _ in range(limit):
        await lowlevel.checkpoint()  # a turn that was stopped asks nothing more
        await fit_window(turn)
        answer = await _ask(turn)
        append_message(turn, Message("assistant", answer.text or None, answer.calls))
        turn.text = answer.text
        turn.stop = "length" if answer.stop == "length" else "done"
        if not answer.calls:
            _say_stop(turn, answer.stop)
            if not await run_stop_hooks(turn, held):
                return
            held += 1
            continue
        for message in await run_calls(turn, answer.calls):
            append_message(turn, message)
        join_tools(turn)
    turn.stop = "max_iterations"
    notice = f"The turn was stopped after {limit} rounds of tools (max_tool_iterations)"
    turn.warn("max-iterations", notice)


def _say_stop(turn: Turn, stop: Stop) -> None:
    if stop == "length":
        message, hint = "The answer was cut at max_tokens", "Raise agents.defaults.max_tokens"
        turn.warn("answer-cut", message, hint)
    elif stop == "refusal":
        turn.warn("model-refused", "The model declined to answer")


async def _ask(turn: Turn) -> ModelAnswer:
    """One answer. One that breaks off is asked for again: what had come of it does not count."""
    request = make_request(turn)
    restarts = 0

    def show(text: str) -> None:
        turn.partial += text
        turn.emit(TextDelta(text=text))

    while True:
        turn.partial = ""
        try:
            return await ask_model(turn, request, show)
        except StreamCut as error:
            restarts += 1
            if restarts > MAX_RESTARTS:
                raise
            message = f"{error}; the answer is asked for again"
            turn.warn("stream-restarted", message)


def make_request(turn: Turn) -> ModelRequest:
    """Build the next request to the model."""
    defaults = turn.runtime.config.agents.defaults
    temperature = defaults.temperature if turn.agent.temperature is None else turn.agent.temperature
    return ModelRequest(turn.route.bare_model, turn.messages(), turn.prompt.specs, temperature, defaults.max_tokens)


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
