"""From the messages on record to those that a model may be shown: every tool call has one result."""

from collections.abc import Iterable, Sequence

from clawft.messages import Message, ToolCall

__all__ = ["INTERRUPTED", "find_cut", "pair_calls", "summary_message"]

INTERRUPTED = "interrupted: the turn ended before this tool gave a result"


def summary_message(summary: str) -> Message:
    """What stands for messages that were summarised."""
    return Message("user", f"<conversation_summary>\n{summary}\n</conversation_summary>")


def pair_calls(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with every call followed by its results: a missing one is made up, one without a call left out.

    Providers refuse a conversation otherwise, and a crash or a damaged line can leave such gaps.
    """
    shown: list[Message] = []
    waiting: list[ToolCall] = []
    later: list[Message] = []  # what came between a call and its results

    def settle() -> None:
        shown.extend(_interrupted(call) for call in waiting)
        shown.extend(later)
        waiting.clear()
        later.clear()

    for message in messages:
        if message.role == "tool":
            call = next((one for one in waiting if one.id == message.tool_call_id), None)
            if call is None:
                continue
            waiting.remove(call)
            shown.append(message)
            if not waiting:
                settle()
        elif message.role == "assistant" or not waiting:
            settle()
            shown.append(message)
            waiting.extend(message.tool_calls)
        else:
            later.append(message)
    settle()
    return tuple(shown)


def find_cut(messages: Sequence[Message], shown: Sequence[Message], keep: int) -> int:
    """Where the messages on record begin that hold the last `keep` of those shown; a result stays with its call."""
    known, seen = set(map(id, messages)), set(map(id, shown))
    left = sum(id(one) in known for one in shown[-keep:]) if keep > 0 else 0
    cut = len(messages)
    while cut and left:
        cut -= 1
        left -= id(messages[cut]) in seen  # one that is not shown counts for nothing
    while 0 < cut < len(messages) and messages[cut].role == "tool":
        cut -= 1
    return cut


def _interrupted(call: ToolCall) -> Message:
    return Message("tool", INTERRUPTED, tool_call_id=call.id, name=call.name, is_error=True)
