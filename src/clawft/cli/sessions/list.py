"""`weft sessions list`: the conversations on disk, newest first."""

import os
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from clawft.cli.options import format_option
from clawft.cli.output import print_json, print_table, say
from clawft.cli.sessions._store import open_store, show_all
from clawft.describe.diagnostics import to_json
from clawft.describe.sessions import describe_session
from clawft.sessions import SessionStore, SessionSummary, is_fork_key
from clawft.sessions.search import MAX_PER_SESSION, Hit

__all__ = ["HEADS", "command", "session_row"]

HEADS = ("KEY", "TITLE", "TURNS", "UPDATED")


@click.command("list")
@click.option("--limit", "-n", default=50, show_default=True, type=click.IntRange(1, 100_000), help="How many to show.")
@click.option("--search", "query", metavar="TEXT", help="Only sessions in which this was said.")
@click.option("--forks", is_flag=True, help="Those of skills and tasks that ran by themselves too.")
@format_option
def command(limit: int, query: str | None, output: str, *, forks: bool) -> int:
    """List conversations, the newest first.

    Exits 1 when one of them cannot be read.
    """
    if query is not None and not query.strip():
        raise click.UsageError("--search needs a text")
    app, store = open_store()
    hits = store.search(query, limit * MAX_PER_SESSION) if query else ()
    found = [store.get(key) for key in dict.fromkeys(hit.key for hit in hits)]
    sessions = found[:limit] if query else store.list(limit, forks=forks)
    if output == "json":
        listed = [_to_json(one, hits if query else None) for one in sessions]
        said = [to_json(one) for one in store.diagnostics]
        print_json("clawft.sessions.list.v1", sessions=listed, diagnostics=said)
        return _exit_code(store)
    if sessions:
        after = [_snippet(one, hits) for one in sessions]
        rows = [(*session_row(one), app.workspace.shorten(one.cwd)) for one in sessions]
        print_table((*HEADS, "FOLDER"), rows, wide=1, after=after)
    show_all(app, store.diagnostics)
    keys = store.keys()
    failed = sum(one.severity == "error" and os.path.isfile(one.path) for one in store.diagnostics)
    known = sum(forks or bool(query) or not is_fork_key(key) for key in keys) - failed
    if known or not _exit_code(store):
        say(_summary(len(sessions), known, query))
    return _exit_code(store)


def _exit_code(store: SessionStore) -> int:
    return int(any(one.severity == "error" for one in store.diagnostics))


def _to_json(session: SessionSummary, hits: Sequence[Hit] | None) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(describe_session(session, hits or ()))
    if hits is None:
        del values["matches"]
    return values


def session_row(session: SessionSummary) -> tuple[str, ...]:
    """What a table says of a session, in the order of HEADS."""
    return (session.key, session.title, str(session.turns), session.updated[:16].replace("T", " "))


def _snippet(session: SessionSummary, hits: Sequence[Hit]) -> str:
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
