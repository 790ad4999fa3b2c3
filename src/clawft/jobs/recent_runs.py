"""The most recent runs for shell completion and the prompt, read without SQLAlchemy."""

from collections.abc import Mapping
from contextlib import closing

import msgspec
from msgspec import Struct

from clawft.config.jobs import RunsSettings
from clawft.config.sqlite import DatabaseError, open_sqlite
from clawft.errors import ClawftError
from clawft.jobs import file_path, is_installed, is_used

_WAIT_S = 0.2
_QUERY = """
SELECT id, status, kind, title, attempt, request FROM weft_run WHERE fleet = '' ORDER BY created DESC, id DESC LIMIT ?
"""


class RecentRun(Struct, frozen=True):
    """A run, as far as a line about it needs."""

    id: str
    status: str
    kind: str
    title: str
    attempt: int
    project: str


class _Asked(Struct):
    project: str = ""


def load_recent_runs(
    settings: RunsSettings, user_dir: str, environ: Mapping[str, str], limit: int
) -> tuple[RecentRun, ...]:
    """The newest runs that belong to no fleet; none where there are none, or where that cannot be read now."""
    if not is_used(settings, user_dir) or not is_installed():
        return ()
    if not settings.database:
        return load_recent_runs_of_file(user_dir, limit)
    from clawft.jobs.runs import Runs

    try:
        with closing(Runs(settings, user_dir, environ)) as runs:
            found = runs.store.list(limit=limit)
    except ClawftError:
        return ()
    own = (run for run in found if not run.fleet)
    return tuple(RecentRun(run.id, run.status, run.kind, run.title, run.attempt, run.request.project) for run in own)


def load_recent_runs_of_file(user_dir: str, limit: int) -> tuple[RecentRun, ...]:
    """Load the recent runs from the database file in a user's folder."""
    try:
        with closing(open_sqlite(file_path(user_dir), wait_s=_WAIT_S, read_only=True)) as file:
            rows = file.execute(_QUERY, (limit,)).fetchall()
    except DatabaseError:
        return ()
    return tuple(
        RecentRun(run, status, kind, title, attempt, _project_of(request))
        for run, status, kind, title, attempt, request in rows
    )


def _project_of(request: str) -> str:
    """The project that a run is of; '' where that cannot be read."""
    try:
        return msgspec.json.decode(request, type=_Asked).project
    except (msgspec.DecodeError, RecursionError):
        return ""
