"""From the messages on record to those that a model may be shown: every tool call has one result."""

from collections.abc import Iterable

from clawft.messages import Message, ToolCall

__all__ = ["INTERRUPTED", "pair_calls", "summary_message"]

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


def _interrupted(call: ToolCall) -> Message:
    return Message("tool", INTERRUPTED, tool_call_id=call.id, name=call.name, is_error=True)
