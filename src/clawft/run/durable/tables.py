"""Our own tables, beside those of the engine in one database. The same for SQLite and PostgreSQL.

Times are ISO texts for people; nothing is decided by them, but when a job is due.
"""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, Table, Text

__all__ = ["EVENT", "FLEET", "FORMAT", "JOB", "METADATA", "QUESTION", "RUN", "SCHEDULE", "VERSION", "WORKER"]

METADATA = MetaData()
VERSION = 1  # of all `weft_` tables; a change of one that an older weft would misread is a new one

# One row: the version of all `weft_` tables in this database.
FORMAT = Table(
    "weft_format",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)

RUN = Table(
    "weft_run",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("request", Text, nullable=False),  # JSON of a RunRequest
    Column("worker", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("started", Text),
    Column("finished", Text),
    Column("steps", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float),
    Column("worked_ms", BigInteger, nullable=False),  # over all attempts; waiting does not count
    Column("base", BigInteger),  # how long the session was when the run began; None until then
    Column("cancel", Boolean, nullable=False),  # somebody asked for its end
    Column("result", Text),
    Column("error", Text),  # JSON of code, message and hint
    Column("parent", Text, nullable=False),  # the run that it is a fork of
    Column("fleet", Text, nullable=False),
    Column("line", Integer, nullable=False),  # of the fleet's input
    Column("format", Text, nullable=False),  # of what is recorded of it
    Column("generation", Integer, nullable=False),  # how often it was begun anew, as if nothing had been done
    Column("deaths", Integer, nullable=False),  # of workers that did it, since it last got further
    Index("weft_run_by_status", "status", "created"),
    Index("weft_run_by_fleet", "fleet", "line"),
    Index("weft_run_by_fleet_status", "fleet", "status"),
    Index("weft_run_by_worker", "worker", "status"),
)

EVENT = Table(
    "weft_event",
    METADATA,
    Column("run", Text, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("step", Text, nullable=False),  # the step it came from, '' between steps
    Column("event", Text, nullable=False),  # JSON
)

QUESTION = Table(
    "weft_question",
    METADATA,
    Column("run", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # approval, in-flight
    Column("event", Text, nullable=False),  # JSON of the ApprovalNeeded
    Column("asked", Text, nullable=False),
    Column("answer", Text),
    Column("answered", Text),
    Column("by", Text, nullable=False),
    Column("taken", Boolean, nullable=False),  # the run went on with the answer
)

WORKER = Table(
    "weft_worker",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("mark", Text, nullable=False),  # tells the process from a later one of the same number
    Column("queue", Text, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("started", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("seen", Text, nullable=False),
    Column("stopping", Boolean, nullable=False),
    Column("stays", Boolean, nullable=False),  # with nothing to do too
)

JOB = Table(
    "weft_job",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("schedule", Text, nullable=False),
    Column("zone", Text, nullable=False),  # of its hours
    Column("task", Text, nullable=False),  # JSON
    Column("cwd", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("next_due", Text),  # in UTC, to the microsecond: in order as texts
    Column("run", Text, nullable=False),  # the last one
    Column("last_run", Text),
    Column("last_status", Text),  # where the last run does not tell
    Column("missed", Integer, nullable=False),
    Index("weft_job_by_due", "enabled", "next_due"),
)

# Which due times were taken: once each, with the run, or '' for one that was missed.
SCHEDULE = Table(
    "weft_schedule",
    METADATA,
    Column("job", Text, primary_key=True),
    Column("due", Text, primary_key=True),
    Column("run", Text, nullable=False),
)

FLEET = Table(
    "weft_fleet",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("spec", Text, nullable=False),  # JSON
    Column("total", Integer, nullable=False),
    Column("created", Text, nullable=False),
    Column("started", Integer, nullable=False),  # the last line that a run was started for, also when that is gone
)
