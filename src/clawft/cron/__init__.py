"""Jobs that run by themselves: a message or a skill, on a schedule. Files and one process, no durable engine."""

from clawft.cron.jobs import Job, Run, make_job, new_job_id
from clawft.cron.schedule import Schedule, find_zone, parse_schedule
from clawft.cron.store import JobStore, find_job

__all__ = ["Job", "JobStore", "Run", "Schedule", "find_job", "find_zone", "make_job", "new_job_id", "parse_schedule"]
