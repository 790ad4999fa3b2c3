"""Schedules: a text to the times it means, and what to do about those that went by. Times are in UTC inside.

Two moments of one zone are compared and subtracted by the hands of the clock, which is wrong when they are put back;
so the zone is only used where a schedule speaks of hours and days.
"""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from msgspec import Struct

from clawft.errors import ClawftError

__all__ = ["GRACE", "MAX_COUNTED", "Due", "Schedule", "check_due", "find_zone", "name_zone", "parse_schedule"]

GRACE = timedelta(hours=1)  # how late a run may start at most
MAX_COUNTED = 1000  # runs that went by; more are not told apart
_MAX_TEXT = 200
_MAX_YEARS = 100  # to come; what lies at the end of time cannot be told in every zone
_NAMED = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
_EVERY = re.compile(r"every\s+([0-9]{1,4})\s*([mhd])", re.ASCII)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_HINT = "Write '0 9 * * 1-5' (minute hour day month weekday), @daily, 'every 10m' or 'at 2026-12-01T09:00', in quotes"
_LOCALTIME = "/etc/localtime"


class Schedule(Struct, frozen=True):
    """When a job is due: by a cron expression, every so often counted from `anchor`, or once."""

    zone: tzinfo
    anchor: datetime
    expression: str = ""
    every: timedelta | None = None
    once: datetime | None = None

    def times(self, after: datetime) -> Iterator[datetime]:
        """Every time that it is due later than `after`, in order."""
        if self.once is not None:
            yield from (self.once,) if self.once > after else ()
        elif self.every is not None:
            number = max(0, (after - self.anchor) // self.every)
            while True:
                number += 1
                yield self.anchor + number * self.every
        else:
            # While the clock is put back, the library starts over at the first of two equal hours.
            moments = (one.astimezone(UTC) for one in CronSim(self.expression, after.astimezone(self.zone)))
            yield from (one for one in moments if one > after)


class Due(Struct, frozen=True):
    """What a look at the clock found: the time to run for, None if that is too long ago; how many runs went by
    without one; and the next time, None if there is none."""

    due: datetime | None
    missed: int
    upcoming: datetime | None


def parse_schedule(text: str, *, anchor: datetime, zone: tzinfo) -> Schedule:
    """A schedule as people write it. Raises: ClawftError."""
    words = text.split()
    if len(text) > _MAX_TEXT or not words:
        raise _refuse(text, "it is empty" if not words else "it is too long")
    if match := _EVERY.fullmatch(text.strip()):
        if not int(match[1]):
            raise _refuse(text, "the interval is nothing")
        return Schedule(zone, anchor, every=int(match[1]) * _UNITS[match[2]])
    if words[0] == "at":
        return Schedule(zone, anchor, once=_parse_moment(text, anchor, zone))
    expression = _NAMED.get(text.strip(), text)
    if len(expression.split()) != 5:
        raise _refuse(text, "it has none of the forms there are")
    return _parse_expression(text, Schedule(zone, anchor, expression=" ".join(expression.split())))


def check_due(schedule: Schedule, first: datetime, now: datetime) -> Due:
    """What to do now about a job that was first due at `first` and has not run since: one run, or none.

    A run that is later than its interval, or than an hour, is not made up for.
    """
    passed = [first, *islice(_until(schedule, first, now), MAX_COUNTED - 1)]
    latest = passed[-1]
    if len(passed) == MAX_COUNTED:
        latest = max(_until(schedule, now - GRACE, now), default=latest)
    following = next(schedule.times(latest), None)
    grace = min(following - latest, GRACE) if following else GRACE
    runs = now - latest <= grace
    return Due(latest if runs else None, len(passed) - runs, next(schedule.times(now), None))


def find_zone(environ: Mapping[str, str]) -> tzinfo:
    """The zone of this machine, or the one that TZ names. Raises: ClawftError."""
    name = environ.get("TZ", "").removeprefix(":")
    try:
        if name and not name.startswith("/"):
            return ZoneInfo(name)
        with open(name or _LOCALTIME, "rb") as file:
            return ZoneInfo.from_file(file, key="local")
    except FileNotFoundError:
        if not name:
            return UTC  # as the system does where no zone is set
        raise _no_zone(name) from None
    except (OSError, ValueError, KeyError) as error:
        raise _no_zone(name) from error


def name_zone(environ: Mapping[str, str]) -> str:
    """What other machines know the zone by that `find_zone` finds; '' if it has no such name."""
    name = environ.get("TZ", "").removeprefix(":")
    if name and not name.startswith("/"):
        return name
    path = os.path.realpath(name or _LOCALTIME)
    if not os.path.exists(path):
        return "UTC"
    named = path.partition("/zoneinfo/")[2]
    return named if named in available_timezones() else ""


def _no_zone(name: str) -> ClawftError:
    message = f"The time zone '{name[:60] or _LOCALTIME}' cannot be read"
    return ClawftError("cron-zone", message, hint="Set TZ to a name such as Europe/Berlin")


def _until(schedule: Schedule, after: datetime, now: datetime) -> Iterator[datetime]:
    return takewhile(lambda one: one <= now, schedule.times(after))


def _parse_expression(text: str, schedule: Schedule) -> Schedule:
    try:
        if next(schedule.times(schedule.anchor), None) is None:
            raise _refuse(text, "that day never comes")
    except (CronSimError, ValueError) as error:
        raise _refuse(text, str(error).lower()) from error
    return schedule


def _parse_moment(text: str, anchor: datetime, zone: tzinfo) -> datetime:
    moment = text.strip().removeprefix("at").strip()
    try:
        parsed = datetime.fromisoformat(moment)
        if parsed.year > anchor.year + _MAX_YEARS:
            raise _refuse(text, "that is too far away")
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _refuse(text, f"'{moment[:60]}' is no time") from error


def _refuse(text: str, why: str) -> ClawftError:
    shown = text if len(text) <= 60 else text[:60] + "…"
    return ClawftError("cron-schedule", f"'{shown}' is no schedule: {why}", hint=_HINT)
