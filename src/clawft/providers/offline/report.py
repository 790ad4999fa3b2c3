"""What `offline` tells the person at the end: what it is, what it did, what it left, and what they can do."""

import re
from collections.abc import Iterable, Sequence

from clawft.providers.offline.commands import Command
from clawft.providers.offline.turn import Loaded, Turn, Used

__all__ = ["render_no_skill", "render_work"]

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


def render_no_skill(turn: Turn, problems: Sequence[str]) -> str:
    """The answer where no skill was loaded."""
    parts = [_WHAT_I_AM]
    if not turn.question:
        parts.append("There was no question.")
    elif not problems:
        parts.append("No skill fits this request, so nothing was done.")
    parts += problems
    if turn.matches:
        parts.append("Skills that are near:\n" + _list(f"{one.name}: {_cut(one.description)}" for one in turn.matches))
    parts.append(f"Next:\n{_list(('See which skills there are: weft skills list', _NEXT))}")
    return "\n\n".join(parts)


def render_work(turn: Turn, loaded: Loaded, commands: Sequence[Command], problem: str) -> str:
    """The answer where a skill was followed, as far as that went."""
    runnable = [one for one in commands if not one.why_left]
    used = turn.of_tool("exec_shell")
    not_run = [f"`{_cut(one.line)}`: not run" for one in runnable[len(used) :]]
    left = [f"`{_cut(one.line)}`: {one.why_left}" for one in commands if one.why_left]
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


def _why_chosen(turn: Turn, loaded: Loaded) -> str:
    if loaded.name in turn.named or not turn.matches:
        return "you named it"
    match = next((one for one in turn.matches if one.name == loaded.name), None)
    about = set(_WORD.findall(f"{match.name} {match.description}".lower().replace("-", " "))) if match else set()
    shared = [word for word in dict.fromkeys(_WORD.findall(turn.question.lower())) if word in about]
    reason = f"; it shares these words with your request: {', '.join(shared[:6])}" if shared else ""
    return f"the best of {len(turn.matches)} that a search found{reason}"


def _render_used(used: Used) -> str:
    outcome = "refused" if used.refused else "failed" if used.failed else "done"
    lines = [line for line in used.told.splitlines() if line.strip()]
    shown = "".join(f"\n    {_cut(line)}" for line in lines[:_SHOWN_LINES])
    more = f"\n    … and {len(lines) - _SHOWN_LINES} more lines" if len(lines) > _SHOWN_LINES else ""
    return f"`{_cut(str(used.call.arguments.get('command', '')))}`: {outcome}{shown}{more}"


def _advice(loaded: Loaded, used: Sequence[Used], is_left: bool) -> list[str]:
    advice = [_NEXT]
    if is_left:
        advice.insert(0, f"Do by hand what was left undone: weft skills show {loaded.name}")
    refused = [one for one in used if one.refused]
    if refused and all(_BY_HOOK in one.told for one in refused):
        advice.insert(0, "A hook refused it, which no rule outweighs: weft hooks list")
    elif refused and all(_BY_SKILL in one.told for one in refused):
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
