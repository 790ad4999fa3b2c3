"""`/session`, `/clear`, `/reset`, `/compact`, `/cost`, `/export`, `/resume` and `/exit`: the conversation."""

import os
from collections.abc import Iterable
from typing import Literal

from clawft.agent.sessions import SessionStore, SessionSummary, encode_key, is_fork_key
from clawft.cli.output import one_line, table_lines
from clawft.cli.repl.command import complete_names, print_diagnostics, print_facts, print_lines
from clawft.cli.repl.commands.agent import current_model
from clawft.cli.repl.context import ReplContext
from clawft.cli.sessions import HEADS, export_session, session_row, write_export
from clawft.errors import ClawftError, NotFound, Refused
from clawft.workspace import resolve_path


async def run_session(repl: ReplContext, _rest: str) -> None:
    who = [("Agent", one_line(repl.agent.name)), ("Model", current_model(repl))]
    try:
        session = repl.app.sessions.read(repl.key) if repl.key else None
    except NotFound:
        session = None
    if session is None or not session.messages:
        repl.screen.print("No session yet: it begins with your first message")
        print_facts(repl, who)
        return
    _, usd = (await repl.runtime()).usage.ledger.spent(session=repl.key)
    usage = session.usage
    facts = [
        ("Session", one_line(repl.key)),
        ("Started", session.header.created[:16].replace("T", " ")),
        ("Turns", str(len(session.turns))),
        ("Messages", str(len(session.messages))),
        ("Tokens", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"),
        ("Cost", f"${usd:.4f}" if usd else ""),
        ("File", one_line(repl.app.workspace.shorten(session.path))),
    ]
    print_facts(repl, [*facts, *who])


async def run_clear(repl: ReplContext, _rest: str, action: Literal["new", "reset"] = "new") -> None:
    key = repl.key
    await repl.leave_conversation()
    repl.screen.clear()
    notice = f" The last one is kept: /resume {one_line(key)}" if key in repl.app.sessions else ""
    repl.screen.print(f"A new session begins with your next message.{notice}")
    await repl.run_command_hooks(action, key)


async def run_reset(repl: ReplContext, rest: str) -> None:
    await run_clear(repl, rest, "reset")


async def run_compact(repl: ReplContext, _rest: str) -> None:
    conversation = await repl.talk()
    if sum(message.role == "user" for message in conversation.session.messages) < 2:
        repl.screen.print("There is nothing to summarise yet: the last turn always stays as it is")
        return
    await repl.compact()


async def run_cost(repl: ReplContext, _rest: str) -> None:
    ledger = (await repl.runtime()).usage.ledger
    budget = ledger.budget
    here = ledger.spent(session=repl.key) if repl.key else (0, 0.0)
    today = ledger.spent(day=ledger.now().date().isoformat())
    facts = [
        ("This session", _spent(*here) + _limits(budget.per_session_tokens, budget.per_session_usd)),
        ("Today", _spent(*today) + _limits(budget.per_day_tokens, budget.per_day_usd)),
    ]
    print_facts(repl, facts)
    if today[0] and not today[1]:
        repl.screen.print("No price is known for these models; `/help cost` tells where prices are set")


def _spent(tokens: int, usd: float) -> str:
    return f"{tokens:,} tokens" + (f", ${usd:.4f}" if usd else "")


def _limits(tokens: int | None, usd: float | None) -> str:
    limits = [f"{tokens:,} tokens"] if tokens is not None else []
    limits += [f"${usd:g}"] if usd is not None else []
    return f" (limit: {' and '.join(limits)})" if limits else ""


_KINDS = {".html": "html", ".htm": "html", ".jsonl": "jsonl"}


async def run_export(repl: ReplContext, rest: str) -> None:
    store, at = repl.app.sessions, repl.app.workspace
    if repl.key not in store:
        repl.screen.print("There is nothing to export yet: the session begins with your first message")
        return
    path = resolve_path(rest or f"{encode_key(repl.key)}.md", at.cwd, at.home)
    if os.path.lexists(path):
        raise Refused("file-exists", "The file is there already", path=path, hint="Choose another name: /export <file>")
    kind = _KINDS.get(os.path.splitext(path)[1].lower(), "md")
    data, diagnostics = export_session(store, repl.key, kind)
    write_export(path, data, force=False)
    print_diagnostics(repl, diagnostics)
    repl.screen.print(f"Written to {one_line(at.shorten(path))}")


_LISTED = 10


async def run_resume(repl: ReplContext, rest: str) -> None:
    store = repl.app.sessions
    if not rest:
        _list(repl, store)
        return
    key = _resolve(store, rest)
    if key == repl.key:
        repl.screen.print(f"This is session {one_line(key)}")
        return
    await _switch(repl, key)
    summary = store.get(key)
    turns = f"{summary.turns} turn{'s' * (summary.turns != 1)}"
    repl.screen.print(f"Resumed {one_line(key)} ({turns}): {one_line(summary.title)}")
    if summary.cwd and summary.cwd not in (repl.app.workspace.cwd, repl.app.workspace.project):
        repl.screen.print(f"  note: it was begun in {one_line(repl.app.workspace.shorten(summary.cwd))}")


async def _switch(repl: ReplContext, key: str) -> None:
    """Open the other session now: where it cannot be, as while another process writes it, this one stays."""
    before = repl.key
    await repl.leave_conversation(key)
    try:
        await repl.talk()
    except ClawftError:
        await repl.leave_conversation(before)
        raise


def _list(repl: ReplContext, store: SessionStore) -> None:
    sessions = _of_project(repl, store)
    rows = [session_row(session) for session in sessions]
    print_lines(repl, table_lines(HEADS, rows, wide=1, columns=repl.screen.width) if rows else ())
    print_diagnostics(repl, store.diagnostics)
    repl.screen.print("Go on with one: /resume <key>" if rows else "There is no session of this project yet")


def _of_project(repl: ReplContext, store: SessionStore) -> list[SessionSummary]:
    places = (repl.app.workspace.cwd, repl.app.workspace.project)
    return [session for session in store.list() if session.cwd in places][:_LISTED]


def _resolve(store: SessionStore, text: str) -> str:
    """The session that is meant; one of a fork only if its key says so. Raises: NotFound."""
    known = store.keys()
    own = [key for key in known if key.startswith(text) and not is_fork_key(key)]
    return own[0] if len(own) == 1 else store.resolve(text)


def complete_resume(repl: ReplContext, partial: str) -> Iterable[str]:
    known = repl.app.sessions.keys()
    return complete_names((key for key in known if not is_fork_key(key)), partial)[::-1]


async def run_exit(repl: ReplContext, _rest: str) -> None:
    repl.leaving = True
