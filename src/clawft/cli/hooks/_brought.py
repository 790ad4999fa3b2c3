"""What hooks ask for, and which of them a skill brings: for whoever decides about either."""

from collections.abc import Mapping, Sequence

from clawft.cli.output import one_line
from clawft.config.hooks import Permissions
from clawft.describe.reviews import list_commands
from clawft.discovery.hooks import FoundHook
from clawft.format.model import Skill

__all__ = ["NOTHING", "asks_line", "brought_lines", "command_line", "say_reach"]

NOTHING = "nothing beside its own folder and the project, which it reads"
_WORDS = {"read": "read {}", "write": "change {}", "net": "reach {}", "env": "variables {}"}


def asks_line(wants: Permissions) -> str:
    """What a HOOK.md asks for, in a line."""
    return say_reach({name: getattr(wants, name) for name in _WORDS}) or NOTHING


def say_reach(parts: Mapping[str, Sequence[str]]) -> str:
    """What may be read, changed and reached, and which variables are seen; '' for nothing of it."""
    said = [_WORDS[name].format(", ".join(map(one_line, values))) for name, values in parts.items() if values]
    return "; ".join(said)


def brought_lines(hooks: Sequence[FoundHook], skill: Skill | None, file: str) -> list[str]:
    """The hooks that a skill brings: each with its events and what it asks for; and the commands of its frontmatter."""
    lines = []
    for one in hooks:
        if one.hook is None:
            why = f": {one.problem.message}" if one.problem else ""
            lines.append("  " + one_line(f"{one.name}: cannot be read{why}"))
        else:
            events = ", ".join(one.hook.events) or "no event that happens here"
            lines += [f"  {one_line(f'{one.name} at {events}')}", f"    asks for: {asks_line(one.hook.wants)}"]
    for each in list_commands(skill, file):
        matcher = f" ({each.matcher})" if each.matcher else ""
        lines.append("  " + one_line(f"a command at {each.event}{matcher}: ") + " " + command_line(each.command))
    return ["Brings hooks, which run by themselves:", *lines] if lines else []


def command_line(command: str) -> str:
    """A command as it is shown to whoever agrees to it: whole, and what ends a comment in it is seen."""
    return one_line(command.replace("\n", " ⏎ "))
