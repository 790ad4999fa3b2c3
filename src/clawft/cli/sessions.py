"""`weft sessions`: list, show, export, fork and remove sessions."""

import os
import sys
from collections.abc import Iterable, Sequence
from shutil import rmtree
from typing import Any

import click
import msgspec

from clawft.agent.sessions import (
    CompactionRecord,
    MessageRecord,
    RewindRecord,
    SessionStore,
    SessionSummary,
    SkillRecord,
    TurnRecord,
    encode_key,
    is_fork_key,
)
from clawft.agent.sessions.export import render_html, render_markdown, summarize_session, turn_note
from clawft.agent.sessions.summary import MAX_PER_SESSION, SessionHit
from clawft.app.app import App
from clawft.cli.completion import complete_sessions
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, print_table, say, show_diagnostics
from clawft.cli.prompts import confirm
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.messages import Message
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.records import transcript_json, view_session
from clawft.workspace import resolve_path


def open_store() -> tuple[App, SessionStore]:
    """The app and the sessions of its user."""
    app = open_here()
    return app, app.sessions


HEADS = ("KEY", "TITLE", "TURNS", "UPDATED")


@click.command("list")
@click.option("--limit", "-n", default=50, show_default=True, type=click.IntRange(1, 100_000), help="How many to show.")
@click.option("--search", "query", metavar="TEXT", help="Only sessions in which this was said.")
@click.option("--forks", is_flag=True, help="Those of skills and tasks that ran by themselves too.")
@format_option
def list_command(limit: int, query: str | None, *, forks: bool) -> CommandResult:
    """List conversations, the newest first.

    Exits 1 when one of them cannot be read.
    """
    if query is not None and not query.strip():
        raise click.UsageError("--search needs a text")
    app, store = open_store()
    hits = store.search(query, limit * MAX_PER_SESSION) if query else ()
    found = [store.get(key) for key in dict.fromkeys(hit.key for hit in hits)]
    sessions = found[:limit] if query else store.list(limit, forks=forks)
    listed = [_to_json(session, hits if query else None) for session in sessions]
    diagnostics = [diagnostic_json(diagnostic) for diagnostic in store.diagnostics]

    def show() -> None:
        if sessions:
            after = [_snippet(session, hits) for session in sessions]
            rows = [(*session_row(session), app.workspace.shorten(session.cwd)) for session in sessions]
            print_table((*HEADS, "FOLDER"), rows, wide=1, after=after)
        show_diagnostics(store.diagnostics, app.workspace.shorten)
        keys = store.keys()
        failed = sum(
            diagnostic.severity == "error" and os.path.isfile(diagnostic.path) for diagnostic in store.diagnostics
        )
        known = sum(forks or bool(query) or not is_fork_key(key) for key in keys) - failed
        if known or not _exit_code(store):
            say(_summary(len(sessions), known, query))

    return CommandResult(
        "clawft.sessions.list.v1", {"sessions": listed, "diagnostics": diagnostics}, show, _exit_code(store)
    )


def _exit_code(store: SessionStore) -> int:
    return int(any(diagnostic.severity == "error" for diagnostic in store.diagnostics))


def _to_json(session: SessionSummary, hits: Sequence[SessionHit] | None) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(view_session(session, hits or ()))
    if hits is None:
        del values["matches"]
    return values


def session_row(session: SessionSummary) -> tuple[str, ...]:
    """Return the table row of a session, in the order of HEADS."""
    return (session.key, session.title, str(session.turns), session.updated[:16].replace("T", " "))


def _snippet(session: SessionSummary, hits: Sequence[SessionHit]) -> str:
    return next((f"turn {hit.turn}, {hit.role}: {hit.snippet}" for hit in hits if hit.key == session.key), "")


def _summary(shown: int, known: int, query: str | None) -> str:
    if query:
        return (
            f"{shown} of {known} session{'s' * (known != 1)} hold '{query}'" if shown else f"No session holds '{query}'"
        )
    if not known:
        return "No sessions yet. Run: weft agent"
    more = f", {known - shown} more with --limit {known}" if known > shown else ""
    return f"{shown} session{'s' * (shown != 1)}{more}"


_COLOURS = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


@click.command("show")
@click.argument("key", shell_complete=complete_sessions)
@format_option
def show_command(key: str) -> CommandResult:
    """Show one conversation. KEY may be cut short where its start is enough."""
    app, store = open_store()
    transcript = store.read(store.resolve(key))
    diagnostics = (*store.diagnostics, *transcript.diagnostics)
    diagnostics_json = [diagnostic_json(diagnostic) for diagnostic in diagnostics]

    def show() -> None:
        click.echo(f"Session: {one_line(transcript.key)}")
        for label, value in summarize_session(transcript):
            click.echo(f"{label}: {one_line(value)}")
        for record in transcript.records:
            if isinstance(record, MessageRecord):
                click.echo(f"\n{_head(record)}")
                for line in _lines(record.message):
                    click.echo(clean(line))
            elif isinstance(record, SkillRecord):
                loaded, name = record.is_skill, one_line(record.name)
                click.echo(f"\n-- {f'skill {name} was loaded' if loaded else f'{name} was heard'} --")
            elif isinstance(record, CompactionRecord):
                click.echo(f"\n-- {record.replaces} earlier messages were summarised --\n{clean(record.summary)}")
            elif isinstance(record, TurnRecord | RewindRecord):
                click.echo(f"\n-- {one_line(turn_note(record))} --")
        show_diagnostics(diagnostics, app.workspace.shorten)

    return CommandResult(
        "clawft.sessions.show.v1", {**transcript_json(transcript), "diagnostics": diagnostics_json}, show
    )


def _head(record: MessageRecord) -> str:
    message = record.message
    tool = f" {one_line(message.name)}{' (error)' if message.is_error else ''}" if message.role == "tool" else ""
    return click.style(f"{message.role}{tool}", fg=_COLOURS[message.role], bold=True)


def _lines(message: Message) -> list[str]:
    lines = [message.content] if message.content else []
    lines += [f"({len(message.images)} images)"] if message.images else []
    for call in message.tool_calls:
        arguments = call.malformed or msgspec.json.encode(call.arguments).decode()
        lines.append(f"-> {one_line(call.name)} {one_line(arguments)}")
    return lines


@click.command("export")
@click.argument("key", shell_complete=complete_sessions)
@click.option(
    "--to", "kind", type=click.Choice(["md", "html", "jsonl"]), default="md", show_default=True, help="As what."
)
@click.option("--output", "-o", metavar="FILE", help="Where to; stdout if not given.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def export_command(key: str, kind: str, output: str | None, force: bool) -> None:
    """Export one conversation: Markdown, a page for browsers, or the lines as they are on disk."""
    app, store = open_store()
    name = store.resolve(key)
    data, diagnostics = export_session(store, name, kind)
    show_diagnostics((*store.diagnostics, *diagnostics), app.workspace.shorten)
    if output is None or output == "-":
        _print(data)
        return
    path = resolve_path(output, app.workspace.cwd, app.workspace.home)
    write_export(path, data, force=force)
    say(f"Written to {clean(app.workspace.shorten(path))}")


def export_session(store: SessionStore, key: str, kind: str) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """A session as `md`, `html` or `jsonl`, and what there is to say of it. Raises: ClawftError."""
    if kind == "jsonl":
        return store.read_bytes(key), ()
    transcript = store.read(key)
    render = render_html if kind == "html" else render_markdown
    return render(transcript).encode("utf-8", errors="replace"), transcript.diagnostics


def _print(data: bytes) -> None:
    if sys.stdout.isatty():  # a program gets the bytes, a terminal only what cannot harm it
        click.echo(clean(data.decode("utf-8", errors="replace")), nl=False)
    else:
        click.echo(data, nl=False)


def write_export(path: str, data: bytes, *, force: bool) -> None:
    """Write a file that only its owner can read, since it holds all that was said. Raises: ClawftError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Refused(
            "file-exists", "The file is there already", path=path, hint="Overwrite it with --force"
        ) from error
    except OSError as error:
        raise ClawftError("not-written", f"The file was not written: {error.strerror}", path=path) from error


@click.command("fork")
@click.argument("key", shell_complete=complete_sessions)
@click.argument("new")
@click.option("--turns", type=click.IntRange(min=1), metavar="N", help="Copy the first N turns only.")
@format_option
def fork_command(key: str, new: str, turns: int | None) -> CommandResult:
    """Copy a conversation to the key NEW, to go on from there in another way. KEY stays as it is."""
    app, store = open_store()
    name = store.resolve(key)
    store.fork(name, new, turns)
    made = store.get(new)
    diagnostics = [diagnostic_json(diagnostic) for diagnostic in store.diagnostics]

    def show() -> None:
        show_diagnostics(store.diagnostics, app.workspace.shorten)
        copied = f"{made.turns} turn{'s' * (made.turns != 1)}"
        return click.echo(one_line(f"Copied {copied} of {name} to {new}. Go on with: weft agent --session {new}"))

    return CommandResult(
        "clawft.sessions.fork.v1",
        {"key": new, "forked_from": name, "turns": made.turns, "path": made.path, "diagnostics": diagnostics},
        show,
    )


@click.command("remove")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=complete_sessions)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def remove_command(keys: tuple[str, ...], yes: bool) -> CommandResult:
    """Remove conversations for good, with the output that was saved for them. Each KEY must be whole.

    What their turns changed can then no longer be taken back.

    What the agent noted in its memory stays: weft memory show
    """
    from clawft.agent.checkpoints.store import forget_session

    app, store = open_store()
    wanted = [store.get(key) for key in dict.fromkeys(keys)]
    agreed = yes or _ask(wanted)
    removed, problems = _remove(store, wanted if agreed else ())
    for key in removed:
        rmtree(os.path.join(app.workspace.user_dir, "output", encode_key(key)), ignore_errors=True)
        forget_session(app.workspace.user_dir, key)
    diagnostics = (*store.diagnostics, *problems)

    def show() -> None:
        show_diagnostics(diagnostics, app.workspace.shorten)
        say(f"Removed: {one_line(', '.join(removed))}" if removed else "Nothing was removed")

    document = {"removed": removed, "diagnostics": list(map(diagnostic_json, diagnostics))}
    return CommandResult("clawft.sessions.remove.v1", document, show, 0 if agreed and not problems else 1)


def _ask(sessions: list[SessionSummary]) -> bool:
    """Return whether a person agrees. Raises: Refused where there is nobody to ask."""
    lines = [
        f"{one_line(session.key)}: {session.turns} turn{'s' * (session.turns != 1)}, "
        f"{one_line(session.title) or 'no title'}"
        for session in sessions
    ]
    return confirm(f"Remove {'it' if len(sessions) == 1 else 'them'} for good?", "Removing sessions", lines=lines)


def _remove(store: SessionStore, sessions: Iterable[SessionSummary]) -> tuple[list[str], list[Diagnostic]]:
    removed: list[str] = []
    problems: list[Diagnostic] = []
    for session in sessions:
        try:
            store.remove(session.key)
            removed.append(session.key)
        except ClawftError as error:
            problems.append(error.diagnostic)
    return removed, problems
