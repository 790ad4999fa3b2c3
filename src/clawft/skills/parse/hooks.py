"""Parse hooks: HOOK.md, Claude Code's command hooks, and their tool matchers."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from clawft.config.extensions import HookPermissions
from clawft.errors import Diagnostic, SkillLoadError, find_close
from clawft.skills.parse.model import NAMESPACES, Skill

MAX_MATCHER = 1_000
_MEMORY = 1 << 20
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|")


def check_matcher(text: str) -> str:
    """Return why a matcher cannot be used; '' if it can."""
    if len(text) > MAX_MATCHER:
        return f"it is longer than {MAX_MATCHER} characters"
    if _is_plain(text):
        return ""
    problem = _compile(text)
    return problem if isinstance(problem, str) else ""


def find_match(text: str, names: Iterable[str]) -> bool:
    """Return whether a matcher means one of the names. One that cannot be used means none."""
    if text in ("", "*"):
        return True
    if _is_plain(text):
        listed = text.split("|")
        return any(name in listed for name in names)
    regex = _compile(text) if len(text) <= MAX_MATCHER else ""
    return not isinstance(regex, str) and any(regex.search(name) is not None for name in names)


def _is_plain(text: str) -> bool:
    return text in ("", "*") or set(text) <= _PLAIN


@lru_cache(maxsize=256)
def _compile(text: str) -> Any:
    """The expression, or what is wrong with it."""
    import re2  # type: ignore[import-untyped]  # most skills have no hooks

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(text, options)
    except (re2.error, UnicodeError) as error:
        message = error.args[0] if error.args else error
        return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


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
        """The hook's event, by weft's own name for it."""
        return CLAUDE_EVENTS[self.event]


class CommandHooks(Struct, frozen=True):
    """The hooks of a map that can be run, and diagnostics about the rest."""

    hooks: tuple[CommandHook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_command_hooks(written: Any, path: str, *, of_skill: bool = False) -> CommandHooks:
    """Read the value of `hooks` of a settings file, or of a skill."""
    diagnostics: list[Diagnostic] = []
    found: list[CommandHook] = []

    def note(code: str, message: str, hint: str) -> None:
        diagnostics.append(Diagnostic(code, "warning", message, path, 0, hint))

    if not isinstance(written, dict):
        note("hook-shape", "'hooks' should be a table of events, so none of them is run", "")
        return CommandHooks((), tuple(diagnostics))
    if others := [str(event) for event in written if event in _OTHERS]:
        never = "it does not" if len(others) == 1 else "they do not"
        what = f"Hooks for {', '.join(others)} are not run: {never} happen here"
        note("hook-unsupported", what, f"There are {', '.join(CLAUDE_EVENTS)}")
    for event, groups in written.items():
        if _is_run(str(event), note):
            found += _read_groups(str(event), groups, of_skill, note)
    if len(found) > _MAX_HOOKS:
        note("hook-shape", f"Only the first {_MAX_HOOKS} of {len(found)} commands are run", "")
    return CommandHooks(tuple(found[:_MAX_HOOKS]), tuple(diagnostics))


def parse_skill_commands(skill: Skill, path: str) -> CommandHooks:
    """The hooks in the frontmatter of a skill."""
    read = parse_command_hooks(skill.hooks, path, of_skill=True) if skill.hooks else CommandHooks()
    written = [name for name, text in (("hook-before", skill.hook_before), ("hook-after", skill.hook_after)) if text]
    hint = "Write it as a hook of Claude Code's: hooks with PreToolUse, PostToolUse or Stop"
    diagnostics = [
        Diagnostic("hook-unsupported", "warning", f"'{name}' is not run: it does not say what it is for", path, 0, hint)
        for name in written
    ]
    return CommandHooks(read.hooks, (*read.diagnostics, *diagnostics))


def check_commands(skill: Skill, path: str) -> tuple[Diagnostic, ...]:
    """Return diagnostics for the hooks in a skill's frontmatter that are not run."""
    return parse_skill_commands(skill, path).diagnostics


def _is_run(event: str, note: _Note) -> bool:
    """Return whether an event happens here; if there is none such, that is said."""
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
            read = (_read_hook(event, matcher, entry, of_skill, note) for entry in listed)
            found += [hook for hook in read if hook is not None]
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
        message = f"{min(written, 1e9):g} seconds; {_MAX_TIMEOUT_S:g} are the most"
        note("hook-shape", f"The timeout of `{shown}` is {message}", "")
    return float(min(written, _MAX_TIMEOUT_S))


HANDLERS = ("handler.ts", "handler.js", "handler.mjs", "index.ts", "index.js", "index.mjs")
# What happens here. The part before the first colon is the type, which hears all of its kind.
EVENTS = (
    "command:new",
    "command:reset",
    "command:stop",
    "session:start",
    "session:compact:before",
    "session:compact:after",
    "agent:bootstrap",
    "agent:stop",
    "gateway:startup",
    "gateway:shutdown",
    "message:received",
    "message:preprocessed",
    "message:sent",
    "tool:before",
    "tool:after",
)
TYPES = tuple(dict.fromkeys(event.partition(":")[0] for event in EVENTS))
# Of other clients, and of older ones, for what happens here under another name.
_ALIASES = {
    "before_tool_call": "tool:before",
    "after_tool_call": "tool:after",
    "before_compaction": "session:compact:before",
    "after_compaction": "session:compact:after",
}
# What others have, and what never happens here.
NEVER = ("session:patch", "session:end", "message:transcribed", "gateway:pre-restart", "agent:error")


class Hook(Struct, frozen=True):
    """A hook as its HOOK.md says it. `about` has what it shares with a skill: name, description, requirements."""

    about: Skill
    events: tuple[str, ...] = ()
    export: str = "default"
    key: str = ""  # under which settings name it, if not by its name
    wants: HookPermissions = HookPermissions()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.about.name


def parse_hook(text: str, dir_name: str, *, path: str) -> Hook:
    """Read a HOOK.md whose folder is `dir_name`. Raises: MissingFrontmatter, YamlParse."""
    from clawft.skills.parse.skill import parse_skill_md  # most sessions have no hook to parse

    try:
        about = parse_skill_md(text, dir_name, path=path, strict=True)
    except SkillLoadError as error:  # which says that it is of a skill
        skill_diagnostic = error.diagnostic
        message = skill_diagnostic.message.removeprefix(f"skill/{dir_name}: ")
        raise type(error)(
            skill_diagnostic.code, message, path=path, line=skill_diagnostic.line, hint=skill_diagnostic.hint
        ) from error
    block = _merge_blocks(about.metadata)
    diagnostics: list[Diagnostic] = [
        diagnostic for diagnostic in about.diagnostics if diagnostic.code != "name-not-folder"
    ]

    def note(code: str, message: str, hint: str = "") -> None:
        diagnostics.append(Diagnostic(code, "warning", message, path, 0, hint))

    events = _read_events(block.get("events"), note)
    export = block.get("export") or "default"
    if not isinstance(export, str):
        note("wrong-type", "'export' should be a text; the default export is taken")
        export = "default"
    key = block.get("hookKey") or block.get("hook_key") or ""
    return Hook(
        about, events, export, key if isinstance(key, str) else "", _read_wants(block, note), tuple(diagnostics)
    )


def _merge_blocks(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the blocks of clients in the metadata; an earlier one of the list wins."""
    block = dict(metadata)
    for name in reversed(NAMESPACES):
        if isinstance(metadata.get(name), dict):
            block.update(metadata[name])
    return block


def _read_events(value: Any, note: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    events: list[str] = []
    for entry in listed:
        name = _ALIASES.get(str(entry).strip(), str(entry).strip())
        if name in EVENTS or name in TYPES:
            events.append(name)
        elif name in NEVER:
            note("hook-event-never", f"The event '{name}' never happens here")
        else:
            close = find_close(name, (*EVENTS, *TYPES))
            note("hook-event-unknown", f"There is no event '{name[:60]}'", f"Did you mean '{close}'?" if close else "")
    if not events:
        note(
            "hook-events-missing",
            "It names no event that happens here, so it never runs",
            "Name them in metadata.openclaw.events",
        )
    return tuple(dict.fromkeys(events))


def _read_wants(block: Mapping[str, Any], note: Any) -> HookPermissions:
    """Read the permissions that a hook asks for. One that is not understood grants none, since it is not clear what the
    user would approve."""
    written = block.get("permissions")
    if written is None:
        return HookPermissions()
    try:
        return msgspec.convert(written, HookPermissions)
    except msgspec.ValidationError as error:
        hint = "permissions has read, write, net and env, each a list of texts"
        note("hook-permissions", f"Its permissions are not understood, so it has none: {error}", hint)
        return HookPermissions()
