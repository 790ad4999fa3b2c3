"""How events of a turn are put into words: the same at a prompt and in a one-shot command."""

from clawft.cli.output import clean, one_line
from clawft.messages import (
    Compacted,
    Event,
    ForkActed,
    ForkFinished,
    ForkStarted,
    MessageSent,
    SkillActivated,
    ToolFinished,
    ToolStarted,
)

__all__ = ["tell", "tell_end", "tell_start"]

_LONG_MS = 2_000  # a tool that took so long says so


def tell(event: Event) -> str:
    """A line about something that happened on the way; '' where there is nothing to say."""
    match event:
        case SkillActivated(name=name, scope=scope):
            return f"· skill {one_line(name)} ({scope})"
        case MessageSent(text=text, hook=hook) if hook:
            return f"» {one_line(hook)}: {_indent(text)}"
        case MessageSent(text=text):
            return f"» {_indent(text)}"
        case Compacted(tokens_before=before, tokens_after=after):
            return f"· older turns were summarised: {before} tokens became {after}"
        case ForkStarted(skill=skill, agent=agent, model=model):
            return f"· fork {_name(skill)} (agent {one_line(agent)}, {one_line(model)})"
        case ForkActed(tool=tool, summary=summary):
            return f"{one_line(tool)} {one_line(summary)}".strip()
        case ForkFinished():
            return _tell_fork(event)
    return ""


def _indent(text: str) -> str:
    """A text of others, none of whose lines looks like one of ours."""
    return clean(text).replace("\n", "\n  ")


def _tell_fork(event: ForkFinished) -> str:
    """How a fork ended, what it took, and where all of it is."""
    mark = "✓" if event.status == "done" else "✗"
    ended = "" if event.status == "done" else f" {event.status.replace('_', ' ')}:"
    calls = f"{event.calls} tool call{'' if event.calls == 1 else 's'}"
    took = f"{calls}, {event.usage.total_tokens:,} tokens, {event.time_ms / 1000:.1f} s"
    return f"{mark} fork {_name(event.skill)}:{ended} {took}; weft sessions show {one_line(event.child)}"


def _name(skill: str) -> str:
    return one_line(skill) or "for a delegated task"


def tell_start(event: ToolStarted) -> str:
    """A tool and what it is used on. A model may make up any name."""
    return f"{one_line(event.tool)} {one_line(event.summary)}".strip()


def tell_end(event: ToolFinished) -> tuple[bool, str] | None:
    """Whether a tool failed, and a word on it; None where it did what it should, in a short time."""
    result = event.result
    if event.status == "error":
        return True, one_line(str(result.get("error", {}).get("message", "")))
    data, took = result.get("data", {}), result.get("stats", {}).get("time_ms", 0)
    if code := data.get("exit_code"):
        return True, f"exit code {code}" + (f" ({one_line(str(why))})" if (why := data.get("hindered")) else "")
    if "session" in result.get("data", {}):  # ForkFinished tells it
        return None
    return (False, f"{took / 1000:.1f} s") if took >= _LONG_MS else None
