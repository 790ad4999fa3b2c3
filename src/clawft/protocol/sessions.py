"""Conversations on disk: the list, and one of them in pages."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from clawft.messages import Usage
from clawft.protocol.base import Answer, Key, Problem, Request

__all__ = ["GetSession", "ListSessions", "SessionAnswer", "SessionEntry", "SessionMatch", "SessionsList"]

_Cursor = Annotated[str, Meta(max_length=512)]


class ListSessions(Request, frozen=True, kw_only=True, tag="list_sessions"):
    """Conversations, the newest first: all, or those in which `search` was said. `cursor` goes on where a list ended.

    Those of skills and tasks that ran by themselves come only with `forks`.
    """

    search: Annotated[str, Meta(max_length=500)] = ""
    forks: bool = False
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: _Cursor = ""


class SessionMatch(Struct, frozen=True, kw_only=True):
    """A place where the text was said."""

    turn: int
    role: str
    snippet: str


class SessionEntry(Struct, frozen=True, kw_only=True):
    """One session of a list: an object of `clawft.sessions.list.v1`. `title` is the first line that a person wrote."""

    key: str
    path: str
    created: str
    updated: str
    turns: int
    messages: int
    title: str
    bytes: int
    cwd: str = ""
    matches: tuple[SessionMatch, ...] = ()


class SessionsList(Answer, frozen=True, kw_only=True, tag="sessions_list"):
    """`cursor` is '' at the end."""

    sessions: tuple[SessionEntry, ...]
    cursor: str = ""
    diagnostics: tuple[Problem, ...] = ()


class GetSession(Request, frozen=True, kw_only=True, tag="get_session"):
    """One conversation: `limit` of its records, from the one with the number `start`."""

    key: Key
    start: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 200


class SessionAnswer(Answer, frozen=True, kw_only=True, tag="session"):
    """`records` in the order they were written, each with its `type`: `message`, `skill`, `compaction`, `turn`.

    Their fields are those of `clawft.sessions.show.v1`. A text that is long is cut, and `cut` tells how many characters
    are missing; of pictures only their kind is told. `total` counts all records.
    """

    key: str
    path: str
    created: str
    cwd: str
    forked_from: str
    turns: int
    messages: int
    usage: Usage
    total: int
    start: int
    records: tuple[dict[str, Any], ...]
    diagnostics: tuple[Problem, ...] = ()
