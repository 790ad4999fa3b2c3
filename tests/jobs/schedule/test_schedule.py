"""Schedules: which times a text means, and what is done about those that went by."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ClawftError
from clawft.jobs.schedule.jobs import MAX_COUNTED, Schedule, check_due, find_zone, name_zone, parse_schedule

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 6, 1, 10, 30, tzinfo=UTC)


def _parse(text: str, anchor: datetime = MONDAY) -> Schedule:
    return parse_schedule(text, anchor=anchor, zone=UTC)


def _next(text: str, count: int = 3) -> list[str]:
    return [f"{one:%d %H:%M}" for one in islice(_parse(text).times(MONDAY), count)]


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("0 9 * * 1-5", ["02 09:00", "03 09:00", "04 09:00"]),
        ("*/20 * * * *", ["01 10:40", "01 11:00", "01 11:20"]),
        ("  30  10  *  *  MON ", ["08 10:30", "15 10:30", "22 10:30"]),
        ("@hourly", ["01 11:00", "01 12:00", "01 13:00"]),
        ("@daily", ["02 00:00", "03 00:00", "04 00:00"]),
        ("@weekly", ["07 00:00", "14 00:00", "21 00:00"]),
        ("@monthly", ["01 00:00", "01 00:00", "01 00:00"]),
        ("every 10m", ["01 10:40", "01 10:50", "01 11:00"]),
        ("every 2h", ["01 12:30", "01 14:30", "01 16:30"]),
        ("every 1d", ["02 10:30", "03 10:30", "04 10:30"]),
        ("at 2026-06-03T09:00", ["03 09:00"]),
        ("at 2026-06-03 09:00+02:00", ["03 07:00"]),
        ("at 2026-06-01T10:30", []),
    ],
)
def test_a_schedule_means_these_times(text: str, times: list[str]) -> None:
    assert _next(text) == times


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "daily", "@yearly", "every", "every 0m", "every 10", "every 10s", "every -5m", "every \u0661m", "at",
        "at noon",
        "60 * * * *", "* * * *", "* * * * * *", "0 0 30 2 *", "0 0 * * 8", "a b c d e", "*/0 * * * *", "1" * 5000,
        f"{'9' * 150} * * * *", "at 9999-12-31T23:59:59-12:00", "at 9999-12-31T23:59", "at 0001-01-01T00:00+14:00",
    ],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _parse(text)

    assert caught.value.code == "cron-schedule"
    assert "'0 9 * * 1-5'" in caught.value.hint
    assert len(str(caught.value)) < 200


@given(st.text(alphabet="0123456789*/,-#LWMONJAFEB @every\tmhdat:T", max_size=40))
def test_any_text_is_a_schedule_or_is_refused(text: str) -> None:
    times = []
    with suppress(ClawftError):  # anything else is a bug
        times = list(islice(_parse(text).times(MONDAY), 3))

    assert times == sorted(times)
    assert all(one > MONDAY for one in times)


def test_every_is_counted_from_the_anchor_whenever_it_is_asked() -> None:
    schedule = _parse("every 7m")

    late = MONDAY + timedelta(hours=5, minutes=1)

    assert next(schedule.times(late)) == MONDAY + timedelta(minutes=44 * 7)


def test_hours_are_those_of_the_zone() -> None:
    schedule = parse_schedule("0 9 * * *", anchor=MONDAY, zone=BERLIN)
    once = parse_schedule("at 2026-12-01T09:00", anchor=MONDAY, zone=BERLIN)

    assert next(schedule.times(MONDAY)) == datetime(2026, 6, 2, 7, tzinfo=UTC)
    assert next(once.times(MONDAY)) == datetime(2026, 12, 1, 8, tzinfo=UTC)


def test_an_hour_that_the_clock_skips_is_made_up_for_once() -> None:
    before = datetime(2026, 3, 28, 12, tzinfo=UTC)  # Berlin skips 02:00 to 03:00 on the 29th
    schedule = parse_schedule("30 2 * * *", anchor=before, zone=BERLIN)

    assert list(islice(schedule.times(before), 2)) == [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
    ]


def test_an_hour_that_comes_twice_is_due_once() -> None:
    before = datetime(2026, 10, 24, 12, tzinfo=UTC)  # Berlin has 02:00 to 03:00 twice on the 25th
    schedule = parse_schedule("30 2 * * *", anchor=before, zone=BERLIN)
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

    assert next(schedule.times(before)) == first
    for minutes in (0, 29, 40, 59, 61, 89):
        assert next(schedule.times(first + timedelta(minutes=minutes))) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_every_hour_is_due_in_both_of_two_equal_hours() -> None:
    before = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    schedule = parse_schedule("0 * * * *", anchor=before, zone=BERLIN)

    times = list(islice(schedule.times(before), 3))

    assert times == [datetime(2026, 10, 25, hour, tzinfo=UTC) for hour in (0, 1, 2)]


def test_a_run_that_is_a_little_late_is_made() -> None:
    nine = datetime(2026, 6, 2, 9, tzinfo=UTC)

    found = check_due(_parse("0 9 * * *"), nine, nine + timedelta(minutes=59))

    assert (found.due, found.missed, found.upcoming) == (nine, 0, nine + timedelta(days=1))


def test_a_run_that_is_more_than_an_hour_late_is_missed() -> None:
    nine = datetime(2026, 6, 2, 9, tzinfo=UTC)

    found = check_due(_parse("0 9 * * *"), nine, nine + timedelta(minutes=61))

    assert (found.due, found.missed, found.upcoming) == (None, 1, nine + timedelta(days=1))


def test_many_missed_times_give_one_run() -> None:
    first = MONDAY + timedelta(minutes=10)

    found = check_due(_parse("every 10m"), first, first + timedelta(hours=8, minutes=3))

    assert (found.due, found.missed) == (first + timedelta(hours=8), 48)
    assert found.upcoming == first + timedelta(hours=8, minutes=10)


def test_a_time_that_was_missed_by_far_gives_no_run_and_never_comes_again() -> None:
    at = MONDAY + timedelta(hours=1)

    found = check_due(_parse("at 2026-06-01T11:30"), at, at + timedelta(hours=2))

    assert (found.due, found.missed, found.upcoming) == (None, 1, None)


def test_a_year_of_missed_minutes_is_told_at_once() -> None:
    now = MONDAY + timedelta(days=365, seconds=30)

    found = check_due(_parse("* * * * *"), MONDAY + timedelta(minutes=1), now)

    assert (found.due, found.missed) == (MONDAY + timedelta(days=365), MAX_COUNTED - 1)


@given(st.integers(1, 10_000_000), st.sampled_from(["every 3m", "0 9 * * *", "@hourly", "*/7 3,4 * * 2", "@monthly"]))
def test_whatever_the_delay_there_is_one_run_at_most_and_the_next_is_to_come(seconds: int, text: str) -> None:
    schedule = _parse(text)
    first = next(schedule.times(MONDAY))
    now = first + timedelta(seconds=seconds)

    found = check_due(schedule, first, now)

    assert found.upcoming is not None
    assert found.upcoming > now
    assert found.missed + (found.due is not None) >= 1
    assert found.due is None or now - timedelta(hours=1) <= found.due <= now


def test_the_zone_is_that_of_tz_or_of_the_machine(tmp_path: Path) -> None:
    assert str(find_zone({"TZ": "Europe/Berlin"})) == "Europe/Berlin"
    assert str(find_zone({"TZ": ":America/New_York"})) == "America/New_York"
    assert find_zone({"TZ": ":/usr/share/zoneinfo/Asia/Tokyo"}).utcoffset(MONDAY) == timedelta(hours=9)
    assert find_zone({}).utcoffset(MONDAY) is not None


@pytest.mark.parametrize("name", ["Nowhere/Town", "../../etc/passwd", "/nowhere", "/etc/passwd", "\x00"])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ClawftError) as caught:
        find_zone({"TZ": name})

    assert caught.value.code == "cron-zone"


@pytest.mark.parametrize(
    ("given", "name"),
    [("Europe/Berlin", "Europe/Berlin"), (":Asia/Tokyo", "Asia/Tokyo"), ("/nowhere/zone", "UTC")],
)
def test_a_zone_has_a_name_that_other_machines_know(given: str, name: str) -> None:
    assert name_zone({"TZ": given}) == name


def test_a_zone_that_is_only_a_file_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "zoneinfo").mkdir()
    (tmp_path / "zoneinfo" / "own").write_bytes(b"")

    assert name_zone({"TZ": str(tmp_path / "zoneinfo" / "own")}) == ""
