"""Conversations on disk, as they are told of."""

from anyio import to_thread

from clawft.app import App
from clawft.describe.sessions import describe_session, page_of
from clawft.errors import ClawftError
from clawft.protocol.base import Request, to_problem
from clawft.protocol.sessions import GetSession, ListSessions, SessionAnswer, SessionsList
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler
from clawft.sessions.search import MAX_PER_SESSION

__all__ = ["HANDLERS"]

MAX_BYTES = 64 << 20  # of a session that is read whole for somebody


async def list_sessions(daemon: Daemon, _call: Call, request: ListSessions) -> SessionsList:
    app = daemon.app
    return await to_thread.run_sync(lambda: _list(app, request), limiter=daemon.reading)


def _list(app: App, request: ListSessions) -> SessionsList:
    store = app.sessions
    if query := request.search.strip():
        hits = store.search(query, request.limit * MAX_PER_SESSION)
        keys = list(dict.fromkeys(hit.key for hit in hits))[: request.limit]
        sessions, cursor = tuple(one for key in keys if (one := store.find(key)) is not None), ""
    else:
        hits = ()
        sessions, cursor = store.page(request.limit, request.cursor, forks=request.forks)
    return SessionsList(
        sessions=tuple(describe_session(one, hits) for one in sessions),
        cursor=cursor,
        diagnostics=tuple(map(to_problem, store.diagnostics)),
    )


async def get_session(daemon: Daemon, _call: Call, request: GetSession) -> SessionAnswer:
    """Raises: ClawftError."""
    app = daemon.app
    return await to_thread.run_sync(lambda: _read(app, request), limiter=daemon.reading)


def _read(app: App, request: GetSession) -> SessionAnswer:
    store = app.sessions
    summary = store.get(request.key)
    if summary.bytes > MAX_BYTES:
        message = f"The session has {summary.bytes >> 20} MB: more than is read for a page"
        raise ClawftError("session-too-large", message, path=summary.path, hint="Run: weft sessions export")
    transcript = store.read(request.key)
    return SessionAnswer(
        key=transcript.key,
        path=transcript.path,
        created=transcript.header.created,
        cwd=transcript.header.cwd,
        forked_from=transcript.header.forked_from,
        turns=len(transcript.turns),
        messages=len(transcript.messages),
        usage=transcript.usage,
        total=len(transcript.records),
        start=request.start,
        records=page_of(transcript, request.start, request.limit),
        diagnostics=tuple(map(to_problem, transcript.diagnostics)),
    )


HANDLERS: dict[type[Request], Handler] = {ListSessions: list_sessions, GetSession: get_session}
