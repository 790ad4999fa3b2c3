"""`weft hooks run NAME`: one hook, called by hand with an event, as a turn would call it."""

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import click
import msgspec
from msgspec import Struct, structs

from clawft.app import App
from clawft.cli._complete import complete_hooks
from clawft.cli.hooks._entries import as_enabled
from clawft.cli.hooks._examples import expand_events, make_example
from clawft.cli.hooks._files import tell_files
from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, one_line, print_json, say, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic, Refused, find_close
from clawft.files import read_regular
from clawft.format.hook import EVENTS
from clawft.hooking import HookRow, find_row, hook_settings, load_rows, make_handlers
from clawft.hooks.command import CommandHandler
from clawft.hooks.events import HookEvent, Reply
from clawft.hooks.registry import Handler

__all__ = ["command"]

MAX_BYTES = 4 << 20
MAX_SHOWN = 4000  # characters of what came back
_FILES = "bootstrapFiles"


class _Called(Struct, frozen=True):
    """One call: what came back, or what went wrong."""

    event: HookEvent
    handler: Handler
    time_ms: float
    reply: Reply | None = None
    problem: Diagnostic | None = None

    @property
    def command(self) -> str | None:
        """What was run, of a hook that is a command."""
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
def command(name: str, file: str | None, key: str | None, output: str) -> int:
    """Call one hook by hand, and show what comes back.

    Without an event it is called once for each that it names, with an example of what that tells. It runs as in a
    turn: in the sandbox, with what it is given and no more. Nothing that it answers is acted on. One that is turned
    off is called all the same; one that nobody approved is not. Exits 1 if a call fails.
    """
    app = open_here()
    settings = hook_settings(app)
    row = find_row(load_rows(app), name)
    if row.state == "disabled":
        settings = as_enabled(settings, [row])
        row = next(one for one in load_rows(app, settings) if (one.name, one.file) == (row.name, row.file))
        say(one_line(f"note: {row.name} is turned off, and hears nothing in a turn. Run: weft hooks enable {row.name}"))
    _check(row)
    handlers = make_handlers(app, app.open_sandbox(), row, settings)
    skill = row.standing.found.skill if row.standing else None
    loaded = (skill.name,) if skill else ()  # hooks of a skill hear some things only while it is loaded
    events = [structs.replace(one, skills=loaded) for one in _choose_events(app, handlers, file, key)]
    called = anyio.run(partial(_call_all, handlers, events))
    if output == "json":
        print_json("clawft.hooks.run.v1", name=row.name, calls=[_to_json(one) for one in called])
    else:
        for one in called:
            _print(app, one)
    if not called:
        raise _explain_silence(row, handlers, events)
    return int(any(one.problem is not None for one in called))


def _explain_silence(row: HookRow, handlers: Sequence[Handler], events: Sequence[HookEvent]) -> ClawftError:
    """Why nothing was called: it hears other events, or nothing of this one."""
    keys = ", ".join(one.key for one in events)
    if any(not one.events.isdisjoint((event.key, event.type)) for one in handlers for event in events):
        message = f"The hook '{row.name}' hears {keys}, but nothing of it is for this one"
        hint = f"See its matchers: weft hooks show {row.name}. Then give one that they name with --event"
    else:
        message = f"The hook '{row.name}' does not hear {keys}"
        hint = f"It hears {', '.join(dict.fromkeys(name for one in handlers for name in sorted(one.events)))}"
    return ClawftError("hook-event", message, path=row.file, hint=hint)


def _check(row: HookRow) -> None:
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


def _choose_events(app: App, handlers: Sequence[Handler], file: str | None, key: str | None) -> list[HookEvent]:
    """The event that was named, or an example of each that the hook hears. Raises: ClawftError."""
    agent = app.config.agents.defaults.agent
    if file is not None:
        given = _load(file)
        named = key or ":".join(str(given[part]) for part in ("type", "action") if given.get(part))
        example = make_example(_find_key(named), app.workspace, agent)
        return [_fill(example, given)]
    if key is not None:
        return [make_example(_find_key(key), app.workspace, agent)]
    heard = expand_events(tuple(event for one in handlers for event in one.events))
    return [make_example(one, app.workspace, agent) for one in heard]


def _find_key(key: str) -> str:
    if key in EVENTS:
        return key
    close = find_close(key, EVENTS)
    hint = f"Did you mean '{close}'?" if close else f"Events are: {', '.join(EVENTS)}"
    said = f"There is no event '{key}'" if key else "The event has no type and action"
    raise ClawftError("hook-event", said, hint=hint)


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


def _fill(example: HookEvent, given: dict[str, Any]) -> HookEvent:
    """An event as it was given, whatever is missing being as in the example."""
    shared = {name: example.context[name] for name in ("workspaceDir", "agentId", "cfg")}
    context = {**shared, **given["context"]} if "context" in given else example.context
    session, at = given.get("sessionKey"), given.get("timestamp")
    return structs.replace(
        example,
        context=context,
        session_key=session if isinstance(session, str) else example.session_key,
        timestamp=at if isinstance(at, str) else example.timestamp,
    )


async def _call_all(handlers: Sequence[Handler], events: Sequence[HookEvent]) -> list[_Called]:
    called = []
    for event in events:
        for handler in handlers:
            if handler.hears(event) and not handler.events.isdisjoint((event.key, event.type)):
                called.append(await _call(handler, event))
    return called


async def _call(handler: Handler, event: HookEvent) -> _Called:
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
    reply = called.reply or Reply()
    lines = [f"says: {one}" for one in reply.messages]
    lines += [f"blocks: {reply.blocked}"] if reply.blocked is not None else []
    lines += [f"wants you to be asked: {reply.asks}"] if reply.asks is not None else []
    lines += [f"tells the model: {reply.added}"] if reply.added else []
    lines += _changes(called)
    lines += [f"prints: {reply.printed}"] if reply.printed and reply.printed.strip() != reply.added else []
    for line in lines or (["answers nothing"] if called.reply else []):
        shown = clean(line) if len(line) <= MAX_SHOWN else clean(line[:MAX_SHOWN]) + " …"
        click.echo("\n".join(f"  {one}".rstrip() for one in shown.splitlines()))


def _changes(called: _Called) -> list[str]:
    """What of the context is another than before: files one by one, all else as JSON."""
    after = called.reply.context if called.reply else {}
    before = called.event.context
    said = tell_files(before.get(_FILES), after[_FILES]) if _FILES in after else []
    others = [name for name in after if name != _FILES and _text(after[name]) != _text(before.get(name))]
    return said + [f"changes {name}: {_text(after[name])}" for name in others]


def _text(value: Any) -> str:
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
        "problem": to_json(called.problem) if called.problem else None,
    }
