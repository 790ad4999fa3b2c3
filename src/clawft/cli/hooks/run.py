"""`weft hooks run`: call one hook by hand with an event, and show what it returns."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial
from typing import Any

import anyio
import click
import msgspec
from msgspec import Struct, structs

from clawft.agent.hooks.commands import CommandHandler
from clawft.agent.hooks.events import HookEvent, HookReply
from clawft.agent.hooks.registry import HookHandler
from clawft.app.app import App
from clawft.app.hooks import AnyHookStatus, find_hook, load_all_hooks, make_handlers
from clawft.cli.hooks.enable import as_enabled
from clawft.cli.hooks.list import complete_hooks
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, say, show_diagnostic
from clawft.errors import ClawftError, Diagnostic, Refused, find_close
from clawft.files import read_regular
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.parse.hooks import EVENTS
from clawft.workspace import Workspace

_KEY = "cli:example"
_ENTRY = {"sessionId": _KEY, "sessionKey": _KEY, "sessionFile": ""}
_PLACE = {"channelId": "cli", "conversationId": _KEY, "messageId": f"{_KEY}:1"}
_MESSAGE = {
    "from": "user",
    "content": "What is new in this project?",
    **_PLACE,
    "metadata": {"skill": "", "images": 0},
}
_COMPACT = {"messageCount": 40, "tokenCount": 90_000}
_TOOL = {"toolName": "exec_shell", "params": {"command": "ls -la"}, "toolCallId": "call-1"}
_EXAMPLES_FILES = [{"path": "AGENTS.md", "name": "AGENTS.md", "content": "Be kind.\n"}]
_CONTEXTS: dict[str, dict[str, Any]] = {
    "command": {
        "commandSource": "cli",
        "senderId": "user",
        "sessionEntry": _ENTRY,
        "previousSessionEntry": _ENTRY,
    },
    "session:start": {"source": "startup", "sessionId": _KEY},
    "session:compact:before": _COMPACT,
    "session:compact:after": {
        **_COMPACT,
        "compactedCount": 30,
        "summaryLength": 1200,
        "tokensBefore": 90_000,
        "tokensAfter": 20_000,
    },
    "agent:bootstrap": {"bootstrapFiles": _EXAMPLES_FILES, "sessionKey": _KEY, "sessionId": _KEY},
    "agent:stop": {"stopHookActive": False, "lastMessage": "Nothing is new."},
    "gateway:startup": {"reason": "start"},
    "gateway:shutdown": {"reason": "SIGTERM"},
    "message:received": _MESSAGE,
    "message:preprocessed": {**_MESSAGE, "bodyForAgent": _MESSAGE["content"]},
    "message:sent": {"to": "user", "content": "Nothing is new.", "success": True, **_PLACE},
    "tool:before": _TOOL,
    "tool:after": {**_TOOL, "result": "README.md\n", "isError": False, "durationMs": 12},
}


def expand_events(events: tuple[str, ...]) -> tuple[str, ...]:
    """The single events that these are, each once: a type is all of its kind."""
    return tuple(key for key in EVENTS if key in events or key.partition(":")[0] in events)


def make_example(key: str, workspace: Workspace, agent: str) -> HookEvent:
    """An event of this kind that could happen here."""
    kind, _, action = key.partition(":")
    context = _CONTEXTS.get(key) or _CONTEXTS.get(kind, {})
    shared = {"workspaceDir": workspace.project, "agentId": agent, "cfg": {}}
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return HookEvent(kind, action, _KEY, {**shared, **context}, now, "ask")


MAX_LINES = 40  # of one file

_Place = tuple[str, int]  # a path, and which of several of that path


def render_file_changes(before: Any, after: Sequence[Mapping[str, Any]]) -> list[str]:
    """Render the files that were added, changed and removed, each with its text indented below it."""
    old, new = _place(before), _place(after)
    lines = [f"removes {path}" for path, at in old if (path, at) not in new]
    for place, file in new.items():
        if place not in old:
            lines.append(f"adds {place[0]}{':' if _text_files(file) else ', which is empty'}{_indent(_lines(file))}")
        elif file != old[place]:
            lines.append(_tell_change(place[0], old[place], file))
    common = [place for place in old if place in new]
    if common != [place for place in new if place in old]:
        lines.append(f"changes the order: {', '.join(path for path, _ in new)}")
    return lines


def _tell_change(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    fields = sorted(name for name in {*old, *new} - {"content"} if old.get(name) != new.get(name))
    about = "".join(f", {name}: {new.get(name, '')}" for name in fields)
    if _text_files(old) == _text_files(new):
        return f"changes {path}{about}"
    compared = list(unified_diff(_lines(old), _lines(new), lineterm="", n=1))[2:]
    return f"changes {path}{about}:{_indent(compared)}"


def _place(files: Any) -> dict[_Place, Mapping[str, Any]]:
    """Files by their path. What a person wrote into an event may be anything, and is left aside."""
    seen: Counter[str] = Counter()
    placed = {}
    for file in _usable(files):
        path = str(file["path"])
        placed[path, seen[path]] = file
        seen[path] += 1
    return placed


def _usable(files: Any) -> Iterator[Mapping[str, Any]]:
    for file in files if isinstance(files, Iterable) else ():
        if isinstance(file, Mapping) and file.get("path"):
            # as they come back: what is not set is not there
            yield {name: value for name, value in file.items() if value not in ("", False)}


def _text_files(file: Mapping[str, Any]) -> str:
    return str(file.get("content", ""))


def _lines(file: Mapping[str, Any]) -> list[str]:
    return _text_files(file).strip("\n").splitlines()


def _indent(lines: Sequence[str]) -> str:
    more = len(lines) - MAX_LINES
    shown = [*lines[:MAX_LINES], f"… ({more} lines more)"] if more > 0 else lines
    return "".join(f"\n  {line}".rstrip(" ") for line in shown)


MAX_BYTES = 4 << 20
MAX_SHOWN = 4000  # characters of what came back
_RUN_FILES = "bootstrapFiles"


class _Called(Struct, frozen=True):
    """One call: what came back, or what went wrong."""

    event: HookEvent
    handler: HookHandler
    time_ms: float
    reply: HookReply | None = None
    problem: Diagnostic | None = None

    @property
    def command(self) -> str | None:
        """The command that was run, or None if the hook is not a command."""
        return self.handler.job.hook.command if isinstance(self.handler, CommandHandler) else None


@click.command("run")
@click.argument("name", shell_complete=complete_hooks)
@click.option("--event", "file", metavar="FILE", help="The event as a JSON object; - reads it from the input.")
@click.option(
    "--event-key",
    "key",
    metavar="TYPE:ACTION",
    help="Which event, with an example of what it tells.",
    shell_complete=lambda _context, _option, begun: [key for key in EVENTS if key.startswith(begun)],
)
@format_option
def command(name: str, file: str | None, key: str | None) -> CommandResult:
    """Call one hook by hand, and show what comes back.

    Without an event it is called once for each that it names, with an example of what that tells. It runs as in a
    turn: in the sandbox, with what it is given and no more. Nothing that it answers is acted on. One that is turned
    off is called all the same; one that nobody approved is not. Exits 1 if a call fails.
    """
    app = open_here()
    settings = app.own_config.hooks
    row = find_hook(load_all_hooks(app), name)
    if row.state == "disabled":
        settings = as_enabled(settings, [row])
        row = next(
            candidate
            for candidate in load_all_hooks(app, settings)
            if (candidate.name, candidate.file) == (row.name, row.file)
        )
        say(one_line(f"note: {row.name} is turned off, and hears nothing in a turn. Run: weft hooks enable {row.name}"))
    _check(row)
    handlers = make_handlers(app, app.open_sandbox(), row, settings)
    skill = row.found.skill
    loaded = (skill.name,) if skill else ()  # hooks of a skill hear some things only while it is loaded
    events = [structs.replace(event, skills=loaded) for event in _choose_events(app, handlers, file, key)]
    called = anyio.run(partial(_call_all, handlers, events))
    if not called:
        raise _explain_silence(row, handlers, events)

    def show() -> None:
        for call in called:
            _print(app, call)

    document = {"name": row.name, "calls": [_to_json(call) for call in called]}
    failed = any(call.problem is not None for call in called)
    return CommandResult("clawft.hooks.run.v1", document, show, int(failed))


def _explain_silence(row: AnyHookStatus, handlers: Sequence[HookHandler], events: Sequence[HookEvent]) -> ClawftError:
    """Return the error for a hook that was not called: it handles other events, or its matchers exclude this one."""
    keys = ", ".join(event.key for event in events)
    if any(not handler.events.isdisjoint((event.key, event.type)) for handler in handlers for event in events):
        message = f"The hook '{row.name}' hears {keys}, but nothing of it is for this one"
        hint = f"See its matchers: weft hooks show {row.name}. Then give one that they name with --event"
    else:
        message = f"The hook '{row.name}' does not hear {keys}"
        hint = f"It hears {', '.join(dict.fromkeys(name for handler in handlers for name in sorted(handler.events)))}"
    return ClawftError("hook-event", message, path=row.file, hint=hint)


def _check(row: AnyHookStatus) -> None:
    """Raises: ClawftError for a hook that cannot run; Refused for one that may not."""
    if row.state in ("ready", "shadowed"):
        return
    first = row.reasons[0] if row.reasons else None
    message = f"The hook '{row.name}' is {row.state}" + (f": {first.message}" if first else "")
    hint = first.hint if first else ""
    if row.state == "untrusted":
        raise Refused("hook-untrusted", message, path=row.file, hint=hint)
    if row.state == "blocked":
        raise Refused("hook-scan-blocked", message, path=row.file, hint=hint)
    raise ClawftError("hook-broken" if row.state == "broken" else "hook-ineligible", message, path=row.file, hint=hint)


def _choose_events(app: App, handlers: Sequence[HookHandler], file: str | None, key: str | None) -> list[HookEvent]:
    """The event that was named, or an example of each that the hook hears. Raises: ClawftError."""
    agent = app.config.agents.defaults.agent
    if file is not None:
        values = _load(file)
        named = key or ":".join(str(values[part]) for part in ("type", "action") if values.get(part))
        example = make_example(_find_key(named), app.workspace, agent)
        return [_fill(example, values)]
    if key is not None:
        return [make_example(_find_key(key), app.workspace, agent)]
    event_keys = expand_events(tuple(event for handler in handlers for event in handler.events))
    return [make_example(event_key, app.workspace, agent) for event_key in event_keys]


def _find_key(key: str) -> str:
    if key in EVENTS:
        return key
    close = find_close(key, EVENTS)
    hint = f"Did you mean '{close}'?" if close else f"Events are: {', '.join(EVENTS)}"
    message = f"There is no event '{key}'" if key else "The event has no type and action"
    raise ClawftError("hook-event", message, hint=hint)


def _load(file: str) -> dict[str, Any]:
    """An event from a file, or from the input. Raises: ClawftError."""
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if file == "-" else read_regular(file, MAX_BYTES, follow=True)[0]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ClawftError("hook-event", "There is no such file", path=file, hint="Check --event") from error
    try:
        event = msgspec.json.decode(data[:MAX_BYTES])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClawftError("hook-event", f"The event is no JSON: {error}", path=file) from error
    if not isinstance(event, dict) or not isinstance(event.get("context", {}), dict):
        hint = 'Such as {"type": "agent", "action": "bootstrap", "context": {"bootstrapFiles": []}}'
        raise ClawftError("hook-event", "The event should be an object with a context", path=file, hint=hint)
    return event


def _fill(example: HookEvent, values: dict[str, Any]) -> HookEvent:
    """An event as it was given, whatever is missing being as in the example."""
    shared = {name: example.context[name] for name in ("workspaceDir", "agentId", "cfg")}
    context = {**shared, **values["context"]} if "context" in values else example.context
    session, at = values.get("sessionKey"), values.get("timestamp")
    return structs.replace(
        example,
        context=context,
        session_key=session if isinstance(session, str) else example.session_key,
        timestamp=at if isinstance(at, str) else example.timestamp,
    )


async def _call_all(handlers: Sequence[HookHandler], events: Sequence[HookEvent]) -> list[_Called]:
    called = []
    for event in events:
        for handler in handlers:
            if handler.matches_event(event) and not handler.events.isdisjoint((event.key, event.type)):
                called.append(await _call(handler, event))
    return called


async def _call(handler: HookHandler, event: HookEvent) -> _Called:
    began = time.perf_counter()
    reply, problem = None, None
    try:
        reply = await handler.call(event)
    except ClawftError as error:
        problem = structs.replace(error.diagnostic, severity="error")
    return _Called(event, handler, (time.perf_counter() - began) * 1000, reply, problem)


def _print(app: App, called: _Called) -> None:
    which = f", {called.handler.job.shown}" if isinstance(called.handler, CommandHandler) else ""
    click.echo(one_line(f"{called.event.key}{which} ({called.time_ms:.0f} ms)"))
    if called.problem is not None:
        show_diagnostic(called.problem, where=app.workspace.shorten(called.problem.where), err=False, indent="  ")
    reply = called.reply or HookReply()
    lines = [f"says: {message}" for message in reply.messages]
    lines += [f"blocks: {reply.blocked}"] if reply.blocked is not None else []
    lines += [f"wants you to be asked: {reply.asks}"] if reply.asks is not None else []
    lines += [f"tells the model: {reply.added}"] if reply.added else []
    lines += _changes(called)
    lines += [f"prints: {reply.printed}"] if reply.printed and reply.printed.strip() != reply.added else []
    for line in lines or (["answers nothing"] if called.reply else []):
        shown = clean(line) if len(line) <= MAX_SHOWN else clean(line[:MAX_SHOWN]) + " …"
        click.echo("\n".join(f"  {line}".rstrip() for line in shown.splitlines()))


def _changes(called: _Called) -> list[str]:
    """Render the differences in the context: file by file for the run's files, as JSON for everything else."""
    after = called.reply.context if called.reply else {}
    before = called.event.context
    lines = render_file_changes(before.get(_RUN_FILES), after[_RUN_FILES]) if _RUN_FILES in after else []
    others = [name for name in after if name != _RUN_FILES and _text_run(after[name]) != _text_run(before.get(name))]
    return lines + [f"changes {name}: {_text_run(after[name])}" for name in others]


def _text_run(value: Any) -> str:
    """Not msgspec's JSON, which has no words for half a character."""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _to_json(called: _Called) -> dict[str, Any]:
    reply = called.reply
    answer = None
    if reply is not None:
        names = ("context", "messages", "added", "blocked", "asks", "printed")
        answer = {name: getattr(reply, name) for name in names}
    return {
        "event": called.event.key,
        "handler": called.handler.name,
        "command": called.command,
        "time_ms": round(called.time_ms, 3),
        "answer": answer,
        "problem": diagnostic_json(called.problem) if called.problem else None,
    }
