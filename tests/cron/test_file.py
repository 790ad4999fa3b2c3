"""The file that earlier versions kept jobs in: read as it was, never guessed at, put away once."""

import fcntl
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from clawft.cron import Job, make_job
from clawft.cron.file import load_file, put_away
from clawft.cron.jobs import Task
from clawft.errors import ClawftError

NOW = datetime(2026, 6, 1, 10, 30, tzinfo=UTC)


def _job() -> Job:
    return make_job("@daily", Task("hello"), cwd="/", now=NOW, zone=UTC)


def _write(folder: Path, *jobs: object) -> Path:
    path = folder / "cron.json"
    path.write_bytes(msgspec.json.encode({"version": 1, "jobs": jobs}))
    return path


def test_jobs_are_read_as_earlier_versions_wrote_them(tmp_path: Path) -> None:
    new = ("zone", "queue", "run")
    jobs = (_job(), make_job("every 2h", Task("a\nb", skill="x", yes=True), name="n", cwd="/tmp", now=NOW, zone=UTC))
    assert load_file(str(tmp_path)) == ()

    _write(
        tmp_path, *({key: value for key, value in msgspec.to_builtins(one).items() if key not in new} for one in jobs)
    )

    assert load_file(str(tmp_path)) == jobs


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"\xff", b'{"version": 0, "jobs": []}', b'{"version": 1, "jobs": [{}]}', b"[" * 100_000,
        b'{"version": 1, "jobs": [], "later": 1}',
    ],
)  # fmt: skip
def test_a_damaged_file_is_said_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cron.json"
    path.write_bytes(content)

    with pytest.raises(ClawftError) as caught:
        load_file(str(tmp_path))

    assert caught.value.code == "cron-damaged"
    assert caught.value.diagnostic.path == str(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("key", "value"), [("schedule", "often"), ("id", "x"), ("missed", -1), ("created", "2026-06-01")]
)
def test_a_job_that_was_edited_into_nonsense_is_damage_too(tmp_path: Path, key: str, value: object) -> None:
    _write(tmp_path, {**msgspec.to_builtins(_job()), key: value})

    with pytest.raises(ClawftError, match="is damaged"):
        load_file(str(tmp_path))


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b'{"version": 1, "jobs": []}')
    (tmp_path / "cron.json").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ClawftError):
        load_file(str(tmp_path))


def test_a_scheduler_of_an_earlier_version_keeps_its_jobs(tmp_path: Path) -> None:
    _write(tmp_path, msgspec.to_builtins(_job()))
    with (tmp_path / "cron-scheduler.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ClawftError) as caught:
            load_file(str(tmp_path))
    assert caught.value.code == "cron-busy"
    assert len(load_file(str(tmp_path))) == 1


def test_the_file_is_put_away_as_a_backup_by_whoever_is_first(tmp_path: Path) -> None:
    before = _write(tmp_path, msgspec.to_builtins(_job())).read_bytes()

    put_away(str(tmp_path))
    put_away(str(tmp_path))

    assert [one.name for one in tmp_path.iterdir()] == ["cron.json.moved"]
    assert (tmp_path / "cron.json.moved").read_bytes() == before
