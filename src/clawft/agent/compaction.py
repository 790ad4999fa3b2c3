"""Compaction: when the context window fills, old turns become a summary. Loaded skills stay whole."""

import msgspec
from msgspec import structs

from clawft.agent.model_call import ask_model, estimate_tokens
from clawft.agent.providers.request import ModelRequest
from clawft.agent.runtime import Turn
from clawft.agent.turn_hooks import fire_hooks
from clawft.errors import ClawftError
from clawft.messages import Compacted, Message
from clawft.trust.tools import SKILL_TOOL

DEFAULT_WINDOW = 128_000
CONTEXT_FULL = "context-full"  # the code of what cannot be made to fit
_KEEP_RESULT = 400  # characters of an old tool result that stay when even the latest turns are too long
MAX_SUMMARY_INPUT = 400_000
_LEARNT = 0.7  # of a conversation that a provider refused: about what its model holds
MAX_SUMMARY = 40_000  # characters: a model that does not stop must not fill the window for good
_TODOS, _SKILLS = "\n\nThe todo list:\n\n", "\n\nSkills that were loaded:\n\n"
_ASK = (
    "Summarise the conversation below for the agent that continues it: what the person wants, what was decided and"
    " done, which files and commands matter, what is left to do. Keep names, paths and numbers. No preamble."
)


async def fit_window(turn: Turn) -> None:
    """Make the conversation fit, if it does not. Raises: ClawftError when nothing more can be left out."""
    settings = turn.runtime.config.agents.compaction
    window = turn.route.context_window or DEFAULT_WINDOW
    before = _tokens(turn)
    if before <= window * settings.at:
        return
    count = len(turn.session.messages)
    await _compact(turn, settings.keep_turns)
    if settings.keep_turns > 1 and _tokens(turn) > window * settings.at:
        await _compact(turn, 1)
    for whole in (4, 2, 1):  # how many of the latest results stay as they are
        if _tokens(turn) > window * settings.at:
            turn.shortened = _shorten_results(turn.session.messages, whole)
    after = _tokens(turn)
    if after < before:
        now = len(turn.session.messages)
        turn.emit(Compacted(tokens_before=before, tokens_after=after, messages_before=count, messages_after=now))
    if after > window:
        raise _full(f"The conversation needs about {after:,} tokens, and the model holds {window:,}")


def shrink_window(turn: Turn) -> None:
    """Learn from a provider that refused a conversation that its model's window is smaller than was thought."""
    window = min(turn.route.context_window or DEFAULT_WINDOW, int(_tokens(turn) * _LEARNT))
    turn.route = structs.replace(turn.route, context_window=window)


def check_fits(turn: Turn, message: Message) -> None:
    """A message that could never fit is not made part of the conversation. Raises: ClawftError."""
    alone = ModelRequest(turn.route.bare_model, (Message("system", turn.prompt.system), message), turn.prompt.specs)
    tokens, window = estimate_tokens(alone), turn.route.context_window or DEFAULT_WINDOW
    if tokens > window:
        raise _full(f"This message alone needs about {tokens:,} tokens, and the model holds {window:,}")


def _full(message: str) -> ClawftError:
    hint = "Say it in fewer words, start a new session, or set context_window if the model holds more"
    return ClawftError(CONTEXT_FULL, message, hint=hint)


async def compact_now(turn: Turn) -> None:
    """Summarise all but the last turn, because the user asked for it."""
    before, count = _tokens(turn), len(turn.session.messages)
    await _compact(turn, 1)
    after, now = _tokens(turn), len(turn.session.messages)
    turn.emit(Compacted(tokens_before=before, tokens_after=after, messages_before=count, messages_after=now))


async def _compact(turn: Turn, keep_turns: int) -> None:
    messages = turn.session.messages
    keep = _count_latest(messages, keep_turns)
    if keep == len(messages):
        return
    before, left_out = _tokens(turn), len(messages) - keep
    counts = {"messageCount": len(messages), "tokenCount": before}
    await fire_hooks(turn, "session:compact:before", counts)
    summary = await _summarise(turn, messages[:left_out])
    turn.session.compact(summary + _todo_list(messages) + _loaded_skills(turn), keep)
    done = {"compactedCount": left_out, "summaryLength": len(summary)}
    tokens = {"tokensBefore": before, "tokensAfter": _tokens(turn)}
    await fire_hooks(turn, "session:compact:after", {**counts, **done, **tokens})


def _tokens(turn: Turn) -> int:
    request = ModelRequest(turn.route.bare_model, turn.messages(), turn.prompt.specs)
    return int(estimate_tokens(request) * turn.scale)


def _count_latest(messages: tuple[Message, ...], turns: int) -> int:
    """Count the messages of the latest turns; each turn begins with a user message."""
    starts = [index for index, message in enumerate(messages) if message.role == "user"]
    return len(messages) - starts[-turns] if len(starts) > turns else len(messages) - (starts[-1] if starts else 0)


def _todo_list(messages: tuple[Message, ...]) -> str:
    """Return the latest todo list, to stand in the summary: from its tool, else from the summary before."""
    for message in reversed(messages):
        if message.role == "tool" and message.name == "TodoWrite" and not message.is_error:
            return f"{_TODOS}{message.content}"
    _, mark, rest = (messages[0].content or "").partition(_TODOS) if messages else ("", "", "")
    return mark + rest.partition(_SKILLS)[0].removesuffix("\n</conversation_summary>")


def _loaded_skills(turn: Turn) -> str:
    texts = [record.content for record in turn.session.activated.values() if record.content]
    return _SKILLS + "\n\n".join(texts) if texts else ""


async def _summarise(turn: Turn, messages: tuple[Message, ...]) -> str:
    transcript = "\n\n".join(f"[{message.role}] {_tell(message)}" for message in messages)
    asked = (Message("system", _ASK), Message("user", transcript[-_room_for_input(turn) :]))
    request = ModelRequest(turn.route.bare_model, asked, max_tokens=turn.runtime.config.agents.defaults.max_tokens)
    answer = await ask_model(turn, request, lambda _: None, at="compact")
    return answer.text.strip()[:MAX_SUMMARY]


def _room_for_input(turn: Turn) -> int:
    """Return the characters of a conversation that fit a request for its summary: about half the window."""
    return min(MAX_SUMMARY_INPUT, 2 * (turn.route.context_window or DEFAULT_WINDOW))


def _tell(message: Message) -> str:
    calls = "".join(
        f"\n→ {call.name} {msgspec.json.encode(call.arguments).decode()[:500]}" for call in message.tool_calls
    )
    text = message.content or ""
    return (text if len(text) <= 4_000 else text[:4_000] + " …") + calls


def _shorten_results(messages: tuple[Message, ...], whole: int) -> dict[str, str]:
    """By call: tool results but the last `whole`, cut to their beginning; a skill's text stays whole."""
    results = [message for message in messages if message.role == "tool" and message.name != SKILL_TOOL]
    shortened = {}
    for message in results[:-whole]:
        text = message.content or ""
        if len(text) > 2 * _KEEP_RESULT:
            left_out = len(text) - _KEEP_RESULT
            shortened[message.tool_call_id] = (
                f"{text[:_KEEP_RESULT]}\n… ({left_out} characters were left out to save room)"
            )
    return shortened
