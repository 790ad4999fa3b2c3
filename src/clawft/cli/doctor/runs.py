"""Runs in the background: whether they can be, who does them, and what waits for a person."""

from collections.abc import Iterator
from contextlib import closing

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error
from clawft.errors import ClawftError

__all__ = ["check_runs"]

_NAME = "runs"
_WHY = "nothing runs in the background"


def check_runs(app: App) -> Iterator[Check]:
    """Their database, workers, and questions nobody answered."""
    from clawft.run.durable import is_installed, is_used
    from clawft.working import run_settings

    settings, user_dir = run_settings(app), app.workspace.user_dir
    if not is_installed():  # which the list of optional parts says
        return
    if not is_used(settings, user_dir):
        yield Check(_NAME, "ok", "none yet; weft agent --background starts one")
    else:
        try:
            yield from _check_database(app)
        except ClawftError as error:
            yield from_error(_NAME, error, app.workspace, why=_WHY)


def _check_database(app: App) -> Iterator[Check]:
    from clawft.cli.doctor.files import check_pages
    from clawft.run.durable import file_path
    from clawft.run.durable.database import check_tables
    from clawft.run.durable.spawn import is_alive
    from clawft.working import open_app_runs

    with closing(open_app_runs(app)) as runs:
        check_tables(runs.database)
        if not runs.settings.database:
            check_pages(file_path(app.workspace.user_dir), "the runs and jobs so far")
        counts = runs.store.counts()
        workers = [one for one in runs.store.roster.workers() if is_alive(one)]
        asked = len(runs.store.questions())
    under_way = counts.get("queued", 0) + counts.get("running", 0)
    where = "a database server" if runs.settings.database else "a file"
    alive = f"{len(workers)} worker{'s' * (len(workers) != 1)}"
    known = sum(counts.values())
    yield Check(_NAME, "ok", f"{known} in {where}, {under_way} under way, {alive}")
    if under_way and not workers:
        why = "what is queued is not done"
        yield Check(_NAME, "note", f"{under_way} under way, and no worker", why=why, fix="weft worker")
    if asked:
        message = f"{asked} question{'s' * (asked != 1)} of runs wait{'s' * (asked == 1)} for an answer"
        yield Check(_NAME, "note", message, why="those runs stand still", fix="weft runs list --status waiting")
