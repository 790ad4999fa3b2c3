"""HOOK.md to Hook: what a hook is, which events it hears, and what it asks for (INTEROP 5).

Its frontmatter is that of a skill, with a few fields more in the block of a client.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawft.config.hooks import Permissions
from clawft.errors import Diagnostic, SkillLoadError, find_close
from clawft.format.model import Skill
from clawft.format.names import NAMESPACES

__all__ = ["EVENTS", "HANDLERS", "NEVER", "TYPES", "Hook", "parse_hook"]

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
    wants: Permissions = Permissions()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.about.name


def parse_hook(text: str, dir_name: str, *, path: str) -> Hook:
    """Read a HOOK.md whose folder is `dir_name`. Raises: MissingFrontmatter, YamlParse."""
    from clawft.format.skill import parse_skill_md  # most sessions have no hook to parse

    try:
        about = parse_skill_md(text, dir_name, path=path, strict=True)
    except SkillLoadError as error:  # which says that it is of a skill
        said_of = error.diagnostic
        message = said_of.message.removeprefix(f"skill/{dir_name}: ")
        raise type(error)(said_of.code, message, path=path, line=said_of.line, hint=said_of.hint) from error
    block = _merge_blocks(about.metadata)
    said: list[Diagnostic] = [one for one in about.diagnostics if one.code != "name-not-folder"]

    def note(code: str, message: str, hint: str = "") -> None:
        said.append(Diagnostic(code, "warning", message, path, 0, hint))

    events = _read_events(block.get("events"), note)
    export = block.get("export") or "default"
    if not isinstance(export, str):
        note("wrong-type", "'export' should be a text; the default export is taken")
        export = "default"
    key = block.get("hookKey") or block.get("hook_key") or ""
    return Hook(about, events, export, key if isinstance(key, str) else "", _read_wants(block, note), tuple(said))


def _merge_blocks(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the blocks of clients say, an earlier one of the list winning."""
    block = dict(metadata)
    for name in reversed(NAMESPACES):
        if isinstance(metadata.get(name), dict):
            block.update(metadata[name])
    return block


def _read_events(value: Any, note: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    events: list[str] = []
    for one in listed:
        name = _ALIASES.get(str(one).strip(), str(one).strip())
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


def _read_wants(block: Mapping[str, Any], note: Any) -> Permissions:
    """What it asks for. One wish that is not understood grants none: nobody could say what was agreed to."""
    written = block.get("permissions")
    if written is None:
        return Permissions()
    try:
        return msgspec.convert(written, Permissions)
    except msgspec.ValidationError as error:
        hint = "permissions has read, write, net and env, each a list of texts"
        note("hook-permissions", f"Its permissions are not understood, so it has none: {error}", hint)
        return Permissions()
