"""Jobs that run by themselves: a message or a skill, on a schedule. Values only: the database of runs keeps them,
and its workers start what is due (`run/durable/jobs.py`)."""

from clawft.cron.jobs import Claim, Job, Task, claim, find_job, make_job, new_job_id
from clawft.cron.schedule import Schedule, find_zone, name_zone, parse_schedule

__all__ = [
    "Claim",
    "Job",
    "Schedule",
    "Task",
    "claim",
    "find_job",
    "find_zone",
    "make_job",
    "name_zone",
    "new_job_id",
    "parse_schedule",
]
