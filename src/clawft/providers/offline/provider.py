"""The provider `offline`: the embedded default, and no language model (DESIGN.md, "The embedded default").

It has no state and no power: each answer follows from the messages alone, and all it does are calls of the tools that
it is offered, under the same policy and approval as any model's.
"""

from collections.abc import AsyncGenerator
from typing import Any

from clawft.messages import Message, ToolCall
from clawft.providers.offline.commands import Command, find_commands
from clawft.providers.offline.report import render_no_skill, render_work
from clawft.providers.offline.summary import render_summary
from clawft.providers.offline.turn import Loaded, Turn, read_turn
from clawft.providers.request import Call, Chunk, Done, Request, Text

__all__ = ["OfflineProvider"]

_MAX_COMMANDS = 20  # a turn has 25 rounds by default
_MAX_QUERY = 1000
_NEAR = 5


class OfflineProvider:
    name = "offline"

    async def close(self) -> None:
        return None

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """One tool call, or the report."""
        step = _decide(request)
        if isinstance(step, str):
            yield Text(step)
            yield Done("end")
        else:
            name, arguments = step
            yield Call(ToolCall(_new_id(request.messages), name, arguments))
            yield Done("tools")


Step = tuple[str, dict[str, Any]] | str


def _decide(request: Request) -> Step:
    """The next call, or at the end the report."""
    system = request.messages[0] if request.messages and request.messages[0].role == "system" else None
    if system and (system.content or "").lstrip().startswith("Summarise"):
        return render_summary(request.messages[1:])
    turn = read_turn(request)
    loaded = turn.loaded
    return _follow(turn, loaded) if loaded else _choose(turn)


def _choose(turn: Turn) -> Step:
    """Load the skill that the person names, else the best that a search finds."""
    if not turn.question:
        return render_no_skill(turn, ())
    tried = {str(one.call.arguments.get("name")) for one in turn.of_tool("Skill")}
    if "Skill" not in turn.offered:
        return render_no_skill(turn, ("No skill could be loaded: the tool `Skill` is not offered in this turn.",))
    if turn.forked:
        return turn.forked.text
    if any(one.refused for one in turn.of_tool("Skill")):
        return render_no_skill(turn, _failures(turn))  # another skill in its place is not what was asked for
    named = next((name for name in turn.named if name not in tried), None)
    if named:
        return "Skill", {"name": named}
    if not turn.of_tool("skill_search"):
        if "skill_search" in turn.offered:
            return "skill_search", {"query": turn.question[:_MAX_QUERY], "limit": _NEAR}
        problem = "No skill could be looked for: the tool `skill_search` is not offered in this turn."
        return render_no_skill(turn, (*_failures(turn), problem))
    best = turn.matches[0].name if turn.matches else ""
    if best and best not in tried and turn.matches[0].fits(turn.question):
        return "Skill", {"name": best}
    return render_no_skill(turn, _failures(turn))


def _failures(turn: Turn) -> tuple[str, ...]:
    """What kept skills from being loaded or found."""
    searches = [f"The search failed: {one.told[:300]}" for one in turn.of_tool("skill_search") if one.is_error]
    loads = [
        f"The skill '{one.call.arguments.get('name')}' could not be loaded: {one.told[:300]}"
        for one in turn.of_tool("Skill")
    ]
    return (*searches, *loads)


def _follow(turn: Turn, loaded: Loaded) -> Step:
    """Run the skill's commands in order, until one fails or is refused."""
    commands = tuple(Command(loaded.anchor(one.line), one.why_left) for one in find_commands(loaded.body))
    runnable = [one for one in commands if not one.why_left]
    used = turn.of_tool("exec_shell")
    problem = ""
    if used and used[-1].failed:
        problem = "The work stopped there: what follows may build on it." if len(used) < len(runnable) else ""
    elif len(used) < min(len(runnable), _MAX_COMMANDS):
        if "exec_shell" in turn.offered:
            return "exec_shell", {"command": runnable[len(used)].line}
        problem = "No command could be run: the tool `exec_shell` is not offered in this turn."
    elif len(used) < len(runnable):
        problem = f"The work stopped after {_MAX_COMMANDS} commands."
    return render_work(turn, loaded, commands, problem)


def _new_id(messages: tuple[Message, ...]) -> str:
    taken = {call.id for message in messages for call in message.tool_calls}
    number = len(taken) + 1
    while f"offline_{number}" in taken:
        number += 1
    return f"offline_{number}"
