"""Who is thought dead, and when: by beats that do not come, never by a clock that others could move."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from clawft.jobs.run_state import WorkerRow, now_text
from clawft.jobs.runs import is_alive
from clawft.jobs.worker_registry import LivenessWatch, is_dead, this_host, this_mark


def row(beat: int = 1, host: str = "elsewhere/1/1", pid: int = 1, mark: str = "", seen: str = "") -> WorkerRow:
    return WorkerRow("w", host, pid, mark, "default", 4, now_text(), beat, seen or now_text(), False)


class Time:
    """A clock that only runs forward."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_one_whose_beats_stop_for_a_lease_is_dead() -> None:
    time = Time()
    watch = LivenessWatch(10, time)
    for beat in (1, 2, 3):
        assert not watch.find_dead([row(beat)])
        time.now += 4
    assert not watch.find_dead([row(3)])
    time.now += 4
    assert not watch.find_dead([row(3)])  # eight seconds
    time.now += 2
    assert [one.id for one in watch.find_dead([row(3)])] == ["w"]


def test_one_who_was_asleep_himself_calls_nobody_dead() -> None:
    time = Time()
    watch = LivenessWatch(10, time)
    assert not watch.find_dead([row()])
    time.now += 3600
    assert not watch.find_dead([row()])


def test_one_who_cannot_give_a_sign_himself_calls_nobody_dead() -> None:
    time = Time()
    watch = LivenessWatch(10, time)
    sign = time.now
    for _ in range(20):
        assert not watch.find_dead([row()], sign)
        time.now += 2
    for _ in range(4):
        assert not watch.find_dead([row()], time.now)  # the database takes writes again: the others have a lease
        time.now += 2
    assert watch.find_dead([row()], time.now)


def test_a_process_of_this_machine_is_known_to_be_gone_at_once() -> None:
    assert not is_dead(row(host=this_host(), pid=os.getpid(), mark=this_mark()))
    assert is_dead(row(host=this_host(), pid=os.getpid(), mark="another:1"))
    assert not is_dead(row(pid=os.getpid(), mark="another:1"))


@pytest.mark.parametrize(("jump", "alive"), [(0, True), (-3600, False), (3600, False)])
def test_a_worker_elsewhere_whose_sign_is_of_another_hour_is_not_relied_on(jump: int, alive: bool) -> None:
    seen = (datetime.now(UTC) + timedelta(seconds=jump)).isoformat()
    assert is_alive(row(seen=seen)) is alive
