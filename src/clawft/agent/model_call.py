"""One model call: reserved in the budget, streamed, masked and settled."""

from collections.abc import Callable
from contextlib import aclosing
from functools import partial

import anyio
import msgspec
from msgspec import Struct, structs

from clawft.agent.providers.request import (
    CallChunk,
    DoneChunk,
    ModelRequest,
    ReasoningChunk,
    RetryChunk,
    Stop,
    TextChunk,
)
from clawft.agent.records import work_on
from clawft.agent.runtime import Turn, run_inserted
from clawft.agent.tools.steps import TurnStep
from clawft.config.redaction import Secrets
from clawft.contracts import Phase
from clawft.errors import ClawftError
from clawft.messages import Noticed, Reasoning, ToolCall, Usage, UsageReported

_CHARS_PER_TOKEN = 4
_IMAGE_TOKENS = 1_500
_SETTLE_S = 30.0


class ModelAnswer(Struct):
    """The answer of a model, so far or in full."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    stop: Stop = "end"
    usage: Usage | None = None
    cost_usd: float | None = None
    estimated: int = 0  # tokens of the request


def estimate_tokens(request: ModelRequest) -> int:
    """About how many tokens a request has; the counts of earlier calls correct it."""
    characters = len(msgspec.json.encode(request.tools))
    images = 0
    for message in request.messages:
        characters += len(message.content or "") + sum(len(str(call.arguments)) + 20 for call in message.tool_calls)
        images += len(message.images)
    return characters // _CHARS_PER_TOKEN + images * _IMAGE_TOKENS


async def ask_model(turn: Turn, request: ModelRequest, show: Callable[[str], None], *, at: str = "") -> ModelAnswer:
    """The model's answer; `show` gets its text as it comes. `at` tells calls apart that are no turn of the talk.

    Raises: Refused by a budget, ProviderError.
    """
    asked_now = False

    async def ask() -> ModelAnswer:
        nonlocal asked_now
        asked_now = True
        return await _ask(turn, await prepare_request(turn, request), show)

    answer = await turn.conversation.steps.run(TurnStep("model", turn.route.model), ask, ModelAnswer, at=at)
    usage = answer.usage or Usage()
    if not asked_now:  # it was asked for before, by a process that is gone
        turn.conversation.allowance.spend(usage.total_tokens)
        show(answer.text)
    turn.usage = turn.usage.merge(usage)
    if usage.input_tokens and answer.estimated:
        turn.scale = min(4.0, max(0.5, usage.input_tokens / answer.estimated))
    turn.emit(UsageReported(model=turn.route.model, usage=usage, cost_usd=answer.cost_usd))
    return answer


async def prepare_request(turn: Turn, request: ModelRequest) -> ModelRequest:
    """A request as it is sent: what is inserted before the transport has had its say. Raises: ClawftError."""
    try:
        while True:
            turn.outgoing, now = request, turn.runtime.extensions
            await run_inserted(turn, Phase.PRE_TRANSPORT)
            if turn.runtime.extensions is now:  # else one of those may be gone that nothing is sent without
                return turn.outgoing
    finally:
        turn.outgoing = None


async def _ask(turn: Turn, request: ModelRequest, show: Callable[[str], None]) -> ModelAnswer:
    estimated = estimate_tokens(request)
    worst = (
        Usage(int(estimated * turn.scale), request.max_tokens) if turn.runtime.is_remote(turn.route.model) else Usage()
    )
    ledger = turn.runtime.usage.ledger
    answer = ModelAnswer(estimated=estimated)
    whole = False
    warn = partial(warn_records_unavailable, turn)
    await _keep_pace(turn)
    with turn.conversation.allowance.hold(worst.total_tokens) as hold:
        account, price = turn.conversation.account, turn.route.price
        reservation = 0
        if worst.total_tokens or price:
            reservation = await work_on(
                ledger.records, lambda: ledger.reserve(account, turn.route.model, worst, price), warn
            )
        try:
            await _read(turn, request, answer, show)
            whole = True
        finally:
            usage = answer.usage if answer.usage is not None else _guess(answer, worst)
            hold.used = usage.total_tokens
            if not whole:  # no answer, but paid for
                turn.usage = turn.usage.merge(usage)
            answer.usage, answer.cost_usd = usage, price.of(usage) if price else None
            if not reservation:
                ledger.book(account, turn.route.model, usage)
            else:
                with anyio.move_on_after(_SETTLE_S, shield=True):  # else it counts with its worst
                    await work_on(ledger.records, lambda: ledger.settle(reservation, usage, price), warn)
    return answer


async def _keep_pace(turn: Turn) -> None:
    """Wait until the provider may be sent another request."""
    name = turn.route.model.partition("/")[0]
    settings = turn.runtime.config.providers.get(name)
    limit = settings.requests_per_minute if settings else None
    if limit is None:
        return

    def tell(wait_s: float) -> None:
        if wait_s > 1:
            message = f"{name} gets {limit:g} requests a minute, so this one waits for its turn"
            hint = f"The limit is providers.{name}.requests_per_minute"
            turn.notice(Noticed(code="provider-pace", message=message, hint=hint))

    await turn.runtime.usage.pace.wait(name, limit, tell, partial(warn_records_unavailable, turn))


def warn_records_unavailable(turn: Turn, error: ClawftError) -> None:
    """Tell of a record that cannot be used just now, once a turn."""
    message = f"{error}; it is tried again until it can be"
    turn.notice(Noticed(code=error.code, message=message, severity="warning", hint=error.hint))


def _guess(answer: ModelAnswer, worst: Usage) -> Usage:
    """Estimate the paid usage of a call that broke off: none if nothing was received."""
    if not answer.text and not answer.calls and not answer.reasoning:
        return Usage()
    written = len(answer.text) + sum(len(part.text) for part in answer.reasoning)
    return Usage(worst.input_tokens, written // _CHARS_PER_TOKEN)


async def _read(turn: Turn, request: ModelRequest, answer: ModelAnswer, show: Callable[[str], None]) -> None:
    assert turn.route.provider is not None  # route chose it
    masked = turn.runtime.secrets.stream()

    def take(text: str) -> None:
        if text:
            answer.text += text
            show(text)

    async with aclosing(turn.route.provider.stream(request)) as stream:
        async for chunk in stream:
            match chunk:
                case TextChunk(text=text):
                    take(masked.feed(text))
                case ReasoningChunk():
                    answer.reasoning = _add_thought(answer.reasoning, chunk)
                case CallChunk(call=call):
                    answer.calls = (*answer.calls, call)
                case RetryChunk(attempt=attempt, wait_s=wait_s, reason=reason):
                    message = f"{reason}; attempt {attempt + 1} in {wait_s:.1f} s"
                    turn.emit(Noticed(code="provider-retry", message=message))
                    await _keep_pace(turn)  # it is sent when this goes on
                case DoneChunk(stop=stop, usage=usage):
                    answer.stop, answer.usage = stop, usage
    take(masked.flush())
    provider = turn.route.model.partition("/")[0]
    answer.reasoning = tuple(_mask_thought(turn.runtime.secrets, part, provider) for part in answer.reasoning)


def _add_thought(known: tuple[Reasoning, ...], chunk: ReasoningChunk) -> tuple[Reasoning, ...]:
    """Add a piece of thought to the block that it goes on with, or as a new one."""
    if known and known[-1].kind == chunk.kind and not known[-1].signature:
        *before, last = known
        return (*before, structs.replace(last, text=last.text + chunk.text, signature=chunk.signature))
    return (*known, Reasoning(chunk.kind, chunk.text, chunk.signature))


def _mask_thought(secrets: Secrets, part: Reasoning, provider: str) -> Reasoning:
    """Return a thought without secrets. One that held any is not what its signature was made for."""
    text = secrets.mask(part.text)
    return Reasoning(part.kind, text, part.signature if text == part.text else "", provider)
