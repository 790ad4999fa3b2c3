"""The provider `offline`: the embedded default without a language model, its decisions, report and summary."""

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

from clawft.agent.providers.offline.turn import (
    FoundCommand,
    LoadedText,
    OfflineTurn,
    UsedTool,
    find_commands,
    read_turn,
)
from clawft.agent.providers.request import CallChunk, Chunk, DoneChunk, ModelRequest, TextChunk
from clawft.messages import Message, ToolCall

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


_WHAT_I_AM = (
    "This answer comes from `offline`, which is not a language model: it looks for a skill that fits, runs the"
    " commands that the skill's own shell blocks name, and reports. It understands neither your question nor the skill."
)
_BY_HOOK = "Not allowed: the hook '"
_BY_SKILL = "Not allowed: the skill '"
_NEXT = "To have a language model answer: weft onboard"
_SHOWN_LINES = 6
_SHOWN_WIDTH = 160
_BODY_LINES = 12
_WORD = re.compile(r"\w{3,}")


def render_no_skill(turn: OfflineTurn, problems: Sequence[str]) -> str:
    """The answer where no skill was loaded."""
    parts = [_WHAT_I_AM]
    if not turn.question:
        parts.append("There was no question.")
    elif not problems:
        parts.append("No skill fits this request, so nothing was done.")
    parts += problems
    if turn.matches:
        parts.append(
            "Skills that are near:\n"
            + _list(f"{skill_match.name}: {_cut(skill_match.description)}" for skill_match in turn.matches)
        )
    parts.append(f"Next:\n{_list(('See which skills there are: weft skills list', _NEXT))}")
    return "\n\n".join(parts)


def render_work(turn: OfflineTurn, loaded: LoadedText, commands: Sequence[FoundCommand], problem: str) -> str:
    """The answer where a skill was followed, as far as that went."""
    runnable = [command for command in commands if not command.why_left]
    used = turn.of_tool("exec_shell")
    not_run = [f"`{_cut(runnable_command.line)}`: not run" for runnable_command in runnable[len(used) :]]
    left = [f"`{_cut(command.line)}`: {command.why_left}" for command in commands if command.why_left]
    parts = [_WHAT_I_AM, f"Skill: {loaded.name} ({_why_chosen(turn, loaded)})"]
    if used:
        parts.append("Commands:\n" + _list(map(_render_used, used)))
    if not commands:
        parts.append(f"The skill names no command in a shell block. Its text begins:\n\n{_begin(loaded.body)}")
    if problem:
        parts.append(problem)
    if not_run or left:
        parts.append("Left undone:\n" + _list((*not_run, *left)))
    parts.append(f"Next:\n{_list(_advice(loaded, used, bool(not_run or left)))}")
    return "\n\n".join(parts)


def _why_chosen(turn: OfflineTurn, loaded: LoadedText) -> str:
    if loaded.name in turn.named or not turn.matches:
        return "you named it"
    match = next((candidate for candidate in turn.matches if candidate.name == loaded.name), None)
    about = set(_WORD.findall(f"{match.name} {match.description}".lower().replace("-", " "))) if match else set()
    shared = [word for word in dict.fromkeys(_WORD.findall(turn.question.lower())) if word in about]
    reason = f"; it shares these words with your request: {', '.join(shared[:6])}" if shared else ""
    return f"the best of {len(turn.matches)} that a search found{reason}"


def _render_used(used: UsedTool) -> str:
    outcome = "refused" if used.refused else "failed" if used.failed else "done"
    lines = [line for line in used.result_text.splitlines() if line.strip()]
    shown = "".join(f"\n    {_cut(line)}" for line in lines[:_SHOWN_LINES])
    more = f"\n    … and {len(lines) - _SHOWN_LINES} more lines" if len(lines) > _SHOWN_LINES else ""
    return f"`{_cut(str(used.call.arguments.get('command', '')))}`: {outcome}{shown}{more}"


def _advice(loaded: LoadedText, used: Sequence[UsedTool], is_left: bool) -> list[str]:
    advice = [_NEXT]
    if is_left:
        advice.insert(0, f"Do by hand what was left undone: weft skills show {loaded.name}")
    refused = [used_tool for used_tool in used if used_tool.refused]
    if refused and all(_BY_HOOK in used_tool.result_text for used_tool in refused):
        advice.insert(0, "A hook refused it, which no rule outweighs: weft hooks list")
    elif refused and all(_BY_SKILL in used_tool.result_text for used_tool in refused):
        advice.insert(0, "The skill itself allows no more, which no rule widens: its allowed-tools say so")
    elif refused:
        advice.insert(0, "Allow the command where you are asked, or with a rule: weft help permissions")
    return advice


def _begin(body: str) -> str:
    lines = [line for line in body.splitlines() if line.strip()]
    more = ["…"] if len(lines) > _BODY_LINES else []
    return "\n".join(f"    {_cut(line)}" for line in [*lines[:_BODY_LINES], *more])


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_WIDTH else line[: _SHOWN_WIDTH - 1] + "…"


_MAX_COMMANDS = 20  # a turn has 25 rounds by default
_MAX_QUERY = 1000
_NEAR = 5


class OfflineProvider:
    name = "offline"

    async def close(self) -> None:
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """One tool call, or the report."""
        step = _decide(request)
        if isinstance(step, str):
            yield TextChunk(step)
            yield DoneChunk("end")
        else:
            name, arguments = step
            yield CallChunk(ToolCall(_new_id(request.messages), name, arguments))
            yield DoneChunk("tools")


Step = tuple[str, dict[str, Any]] | str


def _decide(request: ModelRequest) -> Step:
    """The next call, or at the end the report."""
    system = request.messages[0] if request.messages and request.messages[0].role == "system" else None
    if system and (system.content or "").lstrip().startswith("Summarise"):
        return render_summary(request.messages[1:])
    turn = read_turn(request)
    loaded = turn.loaded
    return _follow(turn, loaded) if loaded else _choose(turn)


def _choose(turn: OfflineTurn) -> Step:
    """Load the skill that the person names, else the best that a search finds."""
    if not turn.question:
        return render_no_skill(turn, ())
    tried = {str(used_tool.call.arguments.get("name")) for used_tool in turn.of_tool("Skill")}
    if "Skill" not in turn.offered:
        return render_no_skill(turn, ("No skill could be loaded: the tool `Skill` is not offered in this turn.",))
    if turn.forked:
        return turn.forked.text
    if any(used_tool.refused for used_tool in turn.of_tool("Skill")):
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


def _failures(turn: OfflineTurn) -> tuple[str, ...]:
    """Return why skills could not be loaded or found."""
    searches = [
        f"The search failed: {used_tool.result_text[:300]}"
        for used_tool in turn.of_tool("skill_search")
        if used_tool.is_error
    ]
    loads = [
        f"The skill '{used_tool.call.arguments.get('name')}' could not be loaded: {used_tool.result_text[:300]}"
        for used_tool in turn.of_tool("Skill")
    ]
    return (*searches, *loads)


def _follow(turn: OfflineTurn, loaded: LoadedText) -> Step:
    """Run the skill's commands in order, until one fails or is refused."""
    commands = tuple(
        FoundCommand(loaded.anchor(command.line), command.why_left) for command in find_commands(loaded.body)
    )
    runnable = [command for command in commands if not command.why_left]
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
