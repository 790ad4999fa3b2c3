"""Fleets: many runs that were asked for at once, one for each line of an input. What is known of them, and in pages."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from clawft.agent.run_request import RunRequest
from clawft.errors import NotFound
from clawft.jobs.database import FLEET, RUN, RunTables
from clawft.jobs.run_state import FOREIGN, Run, RunStatus, new_run_id, to_run

FleetKind = Literal["run", "scan"]


class FleetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The specification of a fleet. Its lines are in a file, which must not change until the fleet is over."""

    title: str
    path: str
    size: int
    digest: str
    last: int  # the last line that a run is started for
    request: RunRequest  # what every line is started with
    queue: str
    output: str = ""  # the file that results go to; '' for none
    limit: int = 0  # only so many lines; 0 for all
    skip_bad: bool = False  # lines that cannot be read are failures, not an error
    fresh: bool = False  # of a scan: reports from before do not count


class Fleet(Struct, frozen=True):
    """One fleet. `total` counts its lines."""

    id: str
    kind: FleetKind
    spec: FleetSpec
    total: int
    created: str


def new_fleet_id() -> str:
    """An id; those of its runs are `ID.LINE`."""
    return f"f{new_run_id()}"


class FleetStore(RunTables):
    """All fleets of a database."""

    def add(self, fleet: Fleet) -> None:
        row = msgspec.structs.asdict(fleet) | {"spec": msgspec.json.encode(fleet.spec).decode(), "started": 0}
        with self._begin() as connection:
            connection.execute(sa.insert(FLEET), [row])

    def get(self, name: str) -> Fleet:
        """The fleet of an id, or the only one whose id starts so. Raises: NotFound."""
        query = sa.select(FLEET).where(FLEET.c.id.startswith(name, autoescape=True)).order_by(FLEET.c.id).limit(6)
        with self._connect() as connection:
            found = [_to_fleet(row) for row in connection.execute(query).mappings()] if name else []
        exact = [fleet for fleet in found if fleet.id == name] or found
        if len(exact) == 1:
            return exact[0]
        if found:
            which = ", ".join(fleet.id for fleet in found)
            raise NotFound("fleet-not-found", f"Several fleets start with '{name}'", hint=f"Say which: {which}")
        raise NotFound("fleet-not-found", f"There is no fleet '{name}'", hint="Run: weft fleet list")

    def list(self, limit: int | None = None) -> tuple[Fleet, ...]:
        """Fleets, the newest first."""
        query = sa.select(FLEET).order_by(FLEET.c.created.desc(), FLEET.c.id.desc()).limit(limit)
        with self._connect() as connection:
            return tuple(map(_to_fleet, connection.execute(query).mappings()))

    def remove_old(self, before: str) -> tuple[Fleet, ...]:
        """Forget fleets that were started before a time and have no runs any more."""
        known = sa.select(RUN.c.id).where(RUN.c.fleet == FLEET.c.id).exists()
        query = sa.delete(FLEET).where(FLEET.c.created < before, ~known).returning(*FLEET.c)
        with self._begin() as connection:
            return tuple(map(_to_fleet, connection.execute(query).mappings()))

    # the runs of one

    def last_line(self, fleet: str) -> int:
        """The last line that a run was started for; 0 if none was."""
        with self._connect() as connection:
            last = connection.execute(sa.select(sa.func.max(RUN.c.line)).where(RUN.c.fleet == fleet)).scalar()
            started = connection.execute(sa.select(FLEET.c.started).where(FLEET.c.id == fleet)).scalar()
        return max(last or 0, started or 0)

    def mark_started(self, fleet: str, line: int) -> None:
        """Keep up to which line runs were started: when they are removed, that must not begin again."""
        with self._begin() as connection:
            connection.execute(sa.update(FLEET).where(FLEET.c.id == fleet).values(started=line))

    def states(self, fleet: str, after: int, limit: int) -> Sequence[tuple[int, RunStatus]]:
        """The next lines after one, each with the status of its run."""
        query = sa.select(RUN.c.line, RUN.c.status).where(RUN.c.fleet == fleet, RUN.c.line > after)
        with self._connect() as connection:
            return [(row.line, row.status) for row in connection.execute(query.order_by(RUN.c.line).limit(limit))]

    def runs(
        self, fleet: str, *, after: int = 0, last: int | None = None, statuses: Sequence[str] = (), limit: int = 100
    ) -> tuple[Run, ...]:
        """The runs of the next lines after one, up to `last`: all of them, or those of some statuses."""
        query = sa.select(RUN).where(RUN.c.fleet == fleet, RUN.c.line > after).order_by(RUN.c.line).limit(limit)
        query = query.where(RUN.c.line <= last) if last is not None else query
        query = query.where(RUN.c.status.in_(statuses)) if statuses else query
        with self._connect() as connection:
            return tuple(map(to_run, connection.execute(query).mappings()))


def _to_fleet(row: sa.RowMapping) -> Fleet:
    values = dict(row)
    del values["started"]
    try:
        spec = msgspec.json.decode(values["spec"], type=FleetSpec)
    except (
        msgspec.DecodeError,
        RecursionError,
    ):  # one such row must not hide the others; it has no lines to go on with
        asked = RunRequest(kind="scan", cwd="")
        spec = FleetSpec(title=FOREIGN, path="", size=0, digest="", last=0, request=asked, queue="")
    return Fleet(**values | {"spec": spec})
