"""Jobs as values: ids, sessions, names, and what a look at the clock makes of them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from clawft.errors import ClawftError, NotFound
from clawft.jobs.schedule.jobs import MAX_TEXT, ScheduledJob, ScheduledTask, claim, find_job, make_job, new_job_id

NOW = datetime(2026, 6, 1, 10, 30, tzinfo=UTC)


def _job(text: str = "hello", name: str = "") -> ScheduledJob:
    return make_job("@daily", ScheduledTask(text), name=name, cwd="/", now=NOW, zone=UTC)


def test_1000_ids_are_unique() -> None:
    ids = {new_job_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert all(one.startswith("job-") and len(one) == 40 for one in ids)


def test_a_job_has_a_session_of_its_own_or_a_new_one_each_time() -> None:
    own, shared = _job(), make_job("@daily", ScheduledTask("x", session="work"), cwd="/", now=NOW, zone=UTC)
    fresh = make_job("@daily", ScheduledTask("x", fresh=True), cwd="/", now=NOW, zone=UTC)

    assert own.session_key(NOW) == f"cron:{own.id}"
    assert shared.session_key(NOW) == "work"
    assert fresh.session_key(NOW) == f"cron:{fresh.id}:20260601T103000.000000Z"


def test_a_job_is_found_by_id_start_or_name() -> None:
    jobs = (_job(name="backup"), _job(name="report"), _job(name="report"))

    assert find_job(jobs, jobs[1].id) is jobs[1]
    assert find_job(jobs, jobs[1].id[:20]) is jobs[1]
    assert find_job(jobs, jobs[1].id.removeprefix("job-")[:16]) is jobs[1]
    assert find_job(jobs, "backup") is jobs[0]
    with pytest.raises(NotFound) as caught:
        find_job(jobs, "report")
    assert caught.value.code == "job-ambiguous"
    assert jobs[1].id in caught.value.hint


def test_an_unknown_job_gets_the_close_match() -> None:
    jobs = (_job(name="backup"),)

    for text, hint in (("bakcup", "did you mean 'backup'? Run: weft cron list"), ("", "Run: weft cron list")):
        with pytest.raises(NotFound) as caught:
            find_job(jobs, text)
        assert (caught.value.code, caught.value.hint) == ("job-not-found", hint)


@pytest.mark.parametrize("text", ["x" * (MAX_TEXT + 1), "\ud800"])
def test_a_text_that_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _job(text)

    assert caught.value.code == "cron-text"


def test_a_job_keeps_the_zone_it_was_added_in_wherever_its_worker_is() -> None:
    job = replace(
        make_job("0 9 * * *", ScheduledTask("x"), cwd="/", now=NOW, zone=ZoneInfo("Europe/Berlin")),
        zone="Europe/Berlin",
    )
    assert job.next_due == datetime(2026, 6, 2, 7, tzinfo=UTC)

    found = claim(job, job.next_due, ZoneInfo("America/New_York"))

    assert found is not None
    assert found.job.next_due == job.next_due + timedelta(days=1)


def test_a_zone_that_is_not_known_here_is_said() -> None:
    job = replace(_job(), zone="Mars/Base")

    with pytest.raises(ClawftError) as caught:
        claim(job, NOW + timedelta(days=1), UTC)

    assert caught.value.code == "cron-zone"


@pytest.mark.parametrize("status", ["running", "waiting"])
def test_a_job_whose_run_goes_on_is_not_due(status: str) -> None:
    job = replace(_job(), last_status=status)

    assert claim(job, NOW + timedelta(days=1), UTC) is None


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (timedelta(minutes=1), "1 run of {} was missed; it runs once for all of them"),
        (timedelta(hours=8), "2 runs of {} were missed; it waits for its next time"),
        (timedelta(days=2000, minutes=1), "999 runs or more of {} were missed; it runs once for all of them"),
    ],
)
def test_runs_that_were_missed_are_said(late: timedelta, said: str) -> None:
    job = _job()
    assert job.next_due is not None

    found = claim(job, job.next_due + timedelta(days=1) + late, UTC)

    assert found is not None
    assert found.render_missed() == said.format(job.id)
