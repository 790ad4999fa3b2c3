"""Hooks around tool calls: they are asked before one is made, and told what came of it.

Our own rules come first: no hook is asked about what is refused anyway. Then hooks, then the person (`run/permit.py`).
"""

from clawft.hooks.events import Outcome
from clawft.messages import ToolCall
from clawft.run.hooks import fire, mark_all, tell_added
from clawft.run.permit import is_denied, tell_asker
from clawft.run.turn import Turn
from clawft.tools.execute import Envelope, render_for_model
from clawft.tools.tool import Ask, Tool, ToolContext

__all__ = ["ask_hooks", "tell_hooks"]

MAX_RESULT = 20_000  # characters of a result that hooks get


async def ask_hooks(turn: Turn, tool: Tool, call: ToolCall, context: ToolContext, at: int) -> Outcome | None:
    """What hooks have against a call; None where nobody was asked."""
    if not turn.runtime.hooks.wants("tool:before") or is_denied(turn, tool, call, context):
        return None
    outcome = await fire(turn, "tool:before", _tell_call(tool, call), str(at))
    if outcome is not None and outcome.asks is not None:
        context.ask = _name_asker(context.ask, tell_asker(outcome.asks))
    return outcome


def _name_asker(ask: Ask, who: str) -> Ask:
    """Ask as before. Whatever else is the reason, the person reads that a hook wants it."""

    async def named(question: str, reason: str, *, grave: bool = False) -> bool:
        return await ask(question, reason if who in reason else f"{reason}; {who}", grave=grave)

    return named


async def tell_hooks(turn: Turn, tool: Tool, call: ToolCall, envelope: Envelope, at: int) -> str:
    """Tell hooks what came of a call that was made; what they add to what the model reads of it."""
    if not turn.runtime.hooks.wants("tool:after") or envelope.error.get("code") == "PERMISSION_DENIED":
        return ""
    text = turn.runtime.secrets.mask(render_for_model(envelope))  # before it is cut, which may part a secret
    told = {
        **_tell_call(tool, call),
        "result": text if len(text) <= MAX_RESULT else f"{text[:MAX_RESULT]}… ({len(text)} characters)",
        "isError": envelope.status == "error",
        "durationMs": envelope.stats.get("time_ms", 0),
    }
    outcome = await fire(turn, "tool:after", told, str(at))
    if outcome is None:
        return ""
    objection = mark_all((outcome.blocked,)) if outcome.blocked else ""  # too late to refuse it, not to say so
    return "\n\n".join(filter(None, (tell_added(turn, outcome, f"the result of {tool.name}"), objection)))


def _tell_call(tool: Tool, call: ToolCall) -> dict[str, object]:
    return {"toolName": tool.name, "params": call.arguments, "toolCallId": call.id}
