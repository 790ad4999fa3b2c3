"""A summary without a model: what the person asked, in their words, and which tools were used."""

import re

from clawft.messages import Message

__all__ = ["render_summary"]

_ASKED = re.compile(r"^\[user\] (.+)$", re.MULTILINE)  # a conversation that was written into one message
_CALLED = re.compile(r"^→ (\S+) ", re.MULTILINE)
_MAX_LINES = 100
_WIDTH = 200


def render_summary(messages: tuple[Message, ...]) -> str:
    """The first line of each request, and the names of tools."""
    asked: list[str] = []
    tools: list[str] = []
    for message in messages:
        text = message.content or ""
        tools += [call.name for call in message.tool_calls]
        if message.role == "user":
            asked += _ASKED.findall(text) or text.strip().splitlines()[:1]
            tools += _CALLED.findall(text)
    lines = [f"- {line[:_WIDTH]}" for line in asked[-_MAX_LINES:]]
    cut = [f"- ({len(asked) - _MAX_LINES} earlier requests are left out)"] if len(asked) > _MAX_LINES else []
    used = ", ".join(dict.fromkeys(tools)) or "none"
    return "\n".join(
        ["The person asked (first lines, taken over without a model):", *cut, *lines, f"Tools used: {used}"]
    )
