"""One whole answer of a model: what breaks off is asked for again, what is cut is continued, a conversation that is
too long is made shorter, and another model takes over from one that fails.
"""

from msgspec import structs

from clawft.agent.compaction import CONTEXT_FULL, fit_window, shrink_window
from clawft.agent.model_call import ModelAnswer, ask_model
from clawft.agent.model_choice import list_fallbacks, take_over
from clawft.agent.providers.request import ContextFull, ModelRequest, ProviderError, StreamCut
from clawft.agent.runtime import Turn
from clawft.errors import ClawftError
from clawft.messages import Message, TextDelta

MAX_RESTARTS = 2  # of one model call whose answer broke off
MAX_CONTINUATIONS = 8  # of one answer that is longer than the model writes at once
_GO_ON = (
    "Your answer was cut off because it reached the limit of tokens for one answer. Continue it exactly where it stops:"
    " repeat nothing, and do not comment on this."
)


async def ask_whole(turn: Turn) -> ModelAnswer:
    """Ask for the next answer of a turn, and return it whole. Raises: ClawftError."""
    answer = await _ask_anyone(turn, "")
    continued = 0
    while answer.stop == "length" and continued < MAX_CONTINUATIONS:
        continued += 1
        grows = _raise_limit(turn)
        if answer.calls and not grows:
            return _explain_cut(turn, answer)
        if answer.calls:  # a call cannot be continued
            turn.warn("answer-continued", "A tool call was cut at max_tokens; it is asked for again, with more room")
            turn.partial, answer = "", await _ask_anyone(turn, "")
        elif answer.text.strip():
            answer = _join(answer, await _ask_anyone(turn, answer.text))
        elif not grows:
            break
        else:
            answer = await _ask_anyone(turn, "")
    return _explain_cut(turn, answer) if answer.calls and answer.stop == "length" else answer


def _raise_limit(turn: Turn) -> bool:
    """Allow the model its own maximum from now on, where that is known; return whether it is more than before."""
    most = turn.route.max_output or 0
    grows = most > turn.max_tokens
    turn.max_tokens = max(most, turn.max_tokens)
    return grows


def _join(first: ModelAnswer, rest: ModelAnswer) -> ModelAnswer:
    """Join an answer that was cut, and the rest of it."""
    return structs.replace(rest, text=first.text + rest.text, reasoning=(*first.reasoning, *rest.reasoning))


def _explain_cut(turn: Turn, answer: ModelAnswer) -> ModelAnswer:
    """Say of the last call of a cut answer, whose arguments may lack their end, why it is not made."""
    *whole, last = answer.calls
    if last.arguments and not last.malformed:
        return answer
    problem = (
        f"The answer was cut off at {turn.max_tokens} tokens, before the arguments ended. Write less in one call:"
        " the first part of a file, then the next parts with further calls"
    )
    return structs.replace(answer, calls=(*whole, structs.replace(last, problem=problem)))


async def _ask_anyone(turn: Turn, begun: str) -> ModelAnswer:
    """Ask the model of the turn, and the fallbacks where it fails for good. Raises: ClawftError."""
    fallbacks = list_fallbacks(turn)
    while True:
        try:
            return await _ask_in_window(turn, begun)
        except ContextFull:
            raise
        except ProviderError as error:
            take_over(turn, fallbacks, error)


async def _ask_in_window(turn: Turn, begun: str) -> ModelAnswer:
    """Ask a model; a conversation that its provider finds too long is summarised, once. Raises: ClawftError."""
    try:
        return await _ask(turn, begun)
    except ContextFull as error:
        turn.warn("context-overflow", f"{error}; older turns are summarised, and the model is asked again")
        shrink_window(turn)
        try:
            await fit_window(turn)
        except ClawftError as failure:
            raise error if failure.code == CONTEXT_FULL else failure from None
        return await _ask(turn, begun)


async def _ask(turn: Turn, begun: str) -> ModelAnswer:
    """One answer, or what follows the text that was `begun`. One that breaks off is asked for again: what had come of
    it does not count."""
    request = make_request(turn)
    if begun:
        more = (Message("assistant", begun), Message("user", _GO_ON))
        request = structs.replace(request, messages=(*request.messages, *more))
    restarts = 0

    def show(text: str) -> None:
        turn.partial += text
        turn.emit(TextDelta(text=text))

    while True:
        turn.partial = begun
        try:
            return await ask_model(turn, request, show)
        except StreamCut as error:
            restarts += 1
            if restarts > MAX_RESTARTS:
                raise
            turn.warn("stream-restarted", f"{error}; the answer is asked for again")


def make_request(turn: Turn) -> ModelRequest:
    """Build the next request to the model."""
    defaults = turn.runtime.config.agents.defaults
    temperature = defaults.temperature if turn.agent.temperature is None else turn.agent.temperature
    return ModelRequest(turn.route.bare_model, turn.messages(), turn.prompt.specs, temperature, turn.max_tokens)
