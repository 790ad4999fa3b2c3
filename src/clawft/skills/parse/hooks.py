"""Claude Code's command hooks, as its settings and the frontmatter of skills write them:

`{Event: [{matcher, hooks: [{type: "command", command, timeout, once}]}]}`. What is written and is not run here is said.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from clawft.errors import Diagnostic, find_close
from clawft.format.hook_matcher import check_matcher
from clawft.format.model import Skill

__all__ = [
    "CLAUDE_EVENTS",
    "CommandHook",
    "CommandHooks",
    "check_commands",
    "parse_command_hooks",
    "parse_skill_commands",
]

# Theirs -> what happens here.
CLAUDE_EVENTS: Mapping[str, str] = {
    "PreToolUse": "tool:before",
    "PostToolUse": "tool:after",
    "UserPromptSubmit": "message:received",
    "SessionStart": "session:start",
    "Stop": "agent:stop",
}
# Those of theirs that are not run here.
_OTHERS = (
    "ConfigChange", "CwdChanged", "Elicitation", "ElicitationResult", "FileChanged", "InstructionsLoaded",
    "Notification", "PermissionDenied", "PermissionRequest", "PostCompact", "PostToolBatch", "PostToolUseFailure",
    "PreCompact", "SessionEnd", "Setup", "StopFailure", "SubagentStart", "SubagentStop", "TaskCompleted",
    "TaskCreated", "TeammateIdle", "UserPromptExpansion", "WorktreeCreate", "WorktreeRemove",
)  # fmt: skip
# Fields that change what would be run, and how; without them it would be something else.
_CHANGES = ("if", "async", "asyncRewake", "args")
_TIMEOUT_S = 60.0
_MAX_TIMEOUT_S = 600.0
_MAX_HOOKS = 200
_MAX_COMMAND = 16_384
_Note = Callable[[str, str, str], None]


class CommandHook(Struct, frozen=True):
    """A command line that is run when something happens. `event` is Claude's name of that."""

    event: str
    command: str
    matcher: str = ""
    timeout_s: float = _TIMEOUT_S
    once: bool = False

    @property
    def key(self) -> str:
        """What happens, in our words."""
        return CLAUDE_EVENTS[self.event]


class CommandHooks(Struct, frozen=True):
    """What can be run of a map of hooks, and what is to say about the rest."""

    hooks: tuple[CommandHook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_command_hooks(written: Any, path: str, *, of_skill: bool = False) -> CommandHooks:
    """Read the value of `hooks` of a settings file, or of a skill."""
    said: list[Diagnostic] = []
    found: list[CommandHook] = []

    def note(code: str, message: str, hint: str) -> None:
        said.append(Diagnostic(code, "warning", message, path, 0, hint))

    if not isinstance(written, dict):
        note("hook-shape", "'hooks' should be a table of events, so none of them is run", "")
        return CommandHooks((), tuple(said))
    if others := [str(event) for event in written if event in _OTHERS]:
        never = "it does not" if len(others) == 1 else "they do not"
        what = f"Hooks for {', '.join(others)} are not run: {never} happen here"
        note("hook-unsupported", what, f"There are {', '.join(CLAUDE_EVENTS)}")
    for event, groups in written.items():
        if _is_run(str(event), note):
            found += _read_groups(str(event), groups, of_skill, note)
    if len(found) > _MAX_HOOKS:
        note("hook-shape", f"Only the first {_MAX_HOOKS} of {len(found)} commands are run", "")
    return CommandHooks(tuple(found[:_MAX_HOOKS]), tuple(said))


def parse_skill_commands(skill: Skill, path: str) -> CommandHooks:
    """The hooks in the frontmatter of a skill."""
    read = parse_command_hooks(skill.hooks, path, of_skill=True) if skill.hooks else CommandHooks()
    written = [name for name, text in (("hook-before", skill.hook_before), ("hook-after", skill.hook_after)) if text]
    hint = "Write it as a hook of Claude Code's: hooks with PreToolUse, PostToolUse or Stop"
    said = [
        Diagnostic("hook-unsupported", "warning", f"'{name}' is not run: it does not say what it is for", path, 0, hint)
        for name in written
    ]
    return CommandHooks(read.hooks, (*read.diagnostics, *said))


def check_commands(skill: Skill, path: str) -> tuple[Diagnostic, ...]:
    """What of the hooks in the frontmatter of a skill is not run, and why."""
    return parse_skill_commands(skill, path).diagnostics


def _is_run(event: str, note: _Note) -> bool:
    """Whether an event happens here; if there is none such, that is said."""
    if event in CLAUDE_EVENTS:
        return True
    if event not in _OTHERS:
        close = find_close(event, CLAUDE_EVENTS)
        hint = f"Did you mean '{close}'?" if close else f"There are {', '.join(CLAUDE_EVENTS)}"
        note("hook-event-unknown", f"There is no event '{event[:60]}'", hint)
    return False


def _read_groups(event: str, groups: Any, of_skill: bool, note: _Note) -> list[CommandHook]:
    if not isinstance(groups, list):
        note("hook-shape", f"'{event}' should be a list, so nothing of it is run", "")
        return []
    found = []
    for group in groups:
        listed = group.get("hooks") if isinstance(group, dict) else None
        matcher = group.get("matcher", "") if isinstance(group, dict) else ""
        if not isinstance(listed, list) or not isinstance(matcher, str):
            note("hook-shape", f"An entry of '{event}' should have a 'matcher' and 'hooks', so it is not run", "")
        elif problem := check_matcher(matcher):
            hint = "Matchers are names, or RE2: neither look-around nor back-references"
            note("hook-matcher", f"The matcher '{matcher[:60]}' of {event} is not understood: {problem}", hint)
        else:
            read = (_read_hook(event, matcher, one, of_skill, note) for one in listed)
            found += [one for one in read if one is not None]
    return found


def _read_hook(event: str, matcher: str, written: Any, of_skill: bool, note: _Note) -> CommandHook | None:
    """One hook, if it can be run; if not, why is said."""
    fields: dict[str, Any] = written if isinstance(written, dict) else {}
    kind, command = fields.get("type"), fields.get("command")
    if isinstance(kind, str) and kind != "command":
        note("hook-unsupported", f"A hook of type '{kind[:30]}' for {event} is not run: only commands are", "")
        return None
    if kind is None or not isinstance(command, str) or not command.strip() or len(command) > _MAX_COMMAND:
        note("hook-shape", f"A hook for {event} has no 'type' and 'command', so it is not run", "")
        return None
    shown = " ".join(command.split())[:60]
    changed = [name for name in _CHANGES if fields.get(name)]
    changed += ["shell"] if fields.get("shell") not in (None, "", "bash", "sh") else []
    if changed:
        what = f"`{shown}` for {event} is not run: '{changed[0]}' is not supported"
        note("hook-unsupported", what, "Leave it out, and see to it in the command" if changed[0] == "if" else "")
        return None
    once = fields.get("once") is True
    if once and not of_skill:  # as theirs: what guards every call must not end after the first
        note("hook-unsupported", f"'once' of `{shown}` is not followed: it holds in skills only", "")
    return CommandHook(event, command.strip(), matcher, _read_timeout(fields, shown, note), once and of_skill)


def _read_timeout(fields: Mapping[str, Any], shown: str, note: _Note) -> float:
    written = fields.get("timeout")
    if written is None:
        return _TIMEOUT_S
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 < written < float("inf"):
        note("hook-shape", f"The timeout of `{shown}` is no number of seconds; {_TIMEOUT_S:g} are taken", "")
        return _TIMEOUT_S
    if written > _MAX_TIMEOUT_S:
        said = f"{min(written, 1e9):g} seconds; {_MAX_TIMEOUT_S:g} are the most"
        note("hook-shape", f"The timeout of `{shown}` is {said}", "")
    return float(min(written, _MAX_TIMEOUT_S))
