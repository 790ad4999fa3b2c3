"""Jobs that run by themselves: a message or a skill, on a schedule. Values only: the database of runs keeps them,
and its workers start what is due (`jobs/schedule/store.py`)."""

from clawft.jobs.schedule.jobs import (
    JobClaim,
    Schedule,
    ScheduledJob,
    ScheduledTask,
    claim,
    find_job,
    find_zone,
    make_job,
    name_zone,
    new_job_id,
    parse_schedule,
)

__all__ = [
    "JobClaim",
    "Schedule",
    "ScheduledJob",
    "ScheduledTask",
    "claim",
    "find_job",
    "find_zone",
    "make_job",
    "name_zone",
    "new_job_id",
    "parse_schedule",
]
