"""The tool `message`: tell the person something while the work goes on."""

from typing import Annotated

from msgspec import Meta, Struct, structs

from clawft.messages import MessageSent
from clawft.tools.tool import Tool, ToolContext, ToolResult, define_tool

__all__ = ["message_tool"]


class MessageArguments(Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="What to say, in a sentence or two", min_length=1, max_length=4000)]


async def _send(arguments: MessageArguments, context: ToolContext) -> ToolResult:
    context.emit(MessageSent(text=arguments.text))
    return ToolResult("The message was shown.", data={"characters": len(arguments.text)})


def message_tool() -> Tool:
    tool = define_tool(
        "message",
        "Tell the person something at once, while you go on working: progress of long work, or a finding that matters."
        " Not for the answer itself.",
        MessageArguments,
        _send,
    )
    return structs.replace(tool, repeatable=lambda _: True)  # read twice is better than never
