"""Stage 4, transport: from the model to tools and back until there is an answer."""

from anyio import lowlevel

from clawft.messages import Message, Noticed, TextDelta
from clawft.providers.request import Request, Stop, StreamCut
from clawft.run.ask import Answer, ask_model
from clawft.run.assemble import join_tools
from clawft.run.calls import run_calls
from clawft.run.compact import fit_window
from clawft.run.fork_skill import answer_by_fork
from clawft.run.hook_turn import may_go_on
from clawft.run.turn import Turn

__all__ = ["make_request", "transport"]

MAX_RESTARTS = 2  # of one model call whose answer broke off


async def transport(turn: Turn) -> None:
    if turn.forking:
        await answer_by_fork(turn, turn.forking)
        return
    limit = turn.agent.max_tool_iterations or turn.runtime.config.agents.defaults.max_tool_iterations
    for _ in range(limit):
        await lowlevel.checkpoint()  # a turn that was stopped asks nothing more
        await fit_window(turn)
        answer = await _ask(turn)
        turn.append(Message("assistant", answer.text or None, answer.calls))
        turn.text = answer.text
        turn.stop = "length" if answer.stop == "length" else "done"
        if not answer.calls:
            _say_stop(turn, answer.stop)
            if not await may_go_on(turn):
                return
            continue
        for message in await run_calls(turn, answer.calls):
            turn.append(message)
        join_tools(turn)
    turn.stop = "max_iterations"
    said = f"The turn was stopped after {limit} rounds of tools (max_tool_iterations)"
    turn.emit(Noticed(code="max-iterations", message=said, severity="warning"))


def _say_stop(turn: Turn, stop: Stop) -> None:
    if stop == "length":
        said, hint = "The answer was cut at max_tokens", "Raise agents.defaults.max_tokens"
        turn.emit(Noticed(code="answer-cut", message=said, severity="warning", hint=hint))
    elif stop == "refusal":
        turn.emit(Noticed(code="model-refused", message="The model declined to answer", severity="warning"))


async def _ask(turn: Turn) -> Answer:
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
            said = f"{error}; the answer is asked for again"
            turn.emit(Noticed(code="stream-restarted", message=said, severity="warning"))


def make_request(turn: Turn) -> Request:
    """What the model is sent now."""
    defaults = turn.runtime.config.agents.defaults
    temperature = defaults.temperature if turn.agent.temperature is None else turn.agent.temperature
    return Request(turn.bare_model, turn.messages(), turn.specs, temperature, defaults.max_tokens)
