"""Stage 4, transport: from the model to tools and back until there is an answer."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from msgspec import Struct

from clawft.messages import Message, Noticed, TextDelta, ToolCall, Usage, UsageReported
from clawft.providers.request import Call, Chunk, Done, Request, Retry, Stop, StreamCut, Text
from clawft.run.calls import run_calls
from clawft.run.compact import estimate_tokens, fit_window
from clawft.run.turn import Turn

__all__ = ["call_model", "transport"]

MAX_RESTARTS = 2  # of one model call whose answer broke off


class _Answer(Struct):
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "end"
    usage: Usage = Usage()


async def transport(turn: Turn) -> None:
    limit = turn.agent.max_tool_iterations or turn.runtime.config.agents.defaults.max_tool_iterations
    for _ in range(limit):
        await fit_window(turn)
        answer = await call_model(turn)
        turn.append(Message("assistant", answer.text or None, answer.calls))
        turn.text = answer.text
        turn.stop = "length" if answer.stop == "length" else "done"
        if not answer.calls:
            _say_stop(turn, answer.stop)
            return
        for message in await run_calls(turn, answer.calls):
            turn.append(message)
    turn.stop = "max_iterations"
    said = f"The turn was stopped after {limit} rounds of tools (max_tool_iterations)"
    turn.emit(Noticed(code="max-iterations", message=said, severity="warning"))


def _say_stop(turn: Turn, stop: Stop) -> None:
    if stop == "length":
        message = "The answer was cut at max_tokens"
        turn.emit(
            Noticed(code="answer-cut", message=message, severity="warning", hint="Raise agents.defaults.max_tokens")
        )
    elif stop == "refusal":
        turn.emit(Noticed(code="model-refused", message="The model declined to answer", severity="warning"))


async def call_model(turn: Turn) -> _Answer:
    """One answer. One that breaks off is asked for again: what had come of it does not count."""
    request = make_request(turn)
    for restart in range(MAX_RESTARTS + 1):
        try:
            return await _call_once(turn, request)
        except StreamCut as error:
            if restart == MAX_RESTARTS:
                raise
            message = f"{error}; the answer is asked for again"
            turn.emit(Noticed(code="stream-restarted", message=message, severity="warning"))
    raise AssertionError("the loop returns or raises")


def make_request(turn: Turn) -> Request:
    defaults = turn.runtime.config.agents.defaults
    temperature = defaults.temperature if turn.agent.temperature is None else turn.agent.temperature
    return Request(turn.bare_model, turn.messages(), turn.specs, temperature, defaults.max_tokens)


async def _call_once(turn: Turn, request: Request) -> _Answer:
    assert turn.provider is not None
    ledger, estimated = turn.runtime.ledger, estimate_tokens(request)
    worst = Usage(int(estimated * turn.scale), request.max_tokens) if turn.runtime.is_remote(turn.model) else Usage()
    reservation = ledger.reserve(turn.session.key, turn.model, worst, turn.price)
    answer = _Answer()
    async with aclosing(turn.provider.stream(request)) as stream:
        await _read(turn, stream, answer)
    usage = answer.usage
    cost = ledger.settle(reservation, usage, turn.price)
    turn.usage = turn.usage.merge(usage)
    if usage.input_tokens and estimated:
        turn.scale = min(4.0, max(0.5, usage.input_tokens / estimated))
    turn.emit(UsageReported(model=turn.model, usage=usage, cost_usd=cost))
    return answer


async def _read(turn: Turn, stream: AsyncIterator[Chunk], answer: _Answer) -> None:
    masked = turn.runtime.secrets.stream()
    parts: list[str] = []
    calls: list[ToolCall] = []

    def show(text: str) -> None:
        if text:
            parts.append(text)
            turn.emit(TextDelta(text=text))

    async for chunk in stream:
        match chunk:
            case Text(text=text):
                show(masked.feed(text))
            case Call(call=call):
                calls.append(call)
            case Retry(attempt=attempt, wait_s=wait_s, reason=reason):
                message = f"{reason}; attempt {attempt + 1} in {wait_s:.1f} s"
                turn.emit(Noticed(code="provider-retry", message=message, severity="note"))
            case Done(stop=stop, usage=usage):
                answer.stop, answer.usage = stop, usage
    show(masked.flush())
    answer.text, answer.calls = "".join(parts), tuple(calls)
