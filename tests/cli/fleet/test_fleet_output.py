"""The file that results go to, and the words for how far a fleet is."""

import json
from pathlib import Path

import pytest

from clawft.cli.fleet_feed import FleetOutput, FleetProgress, render_duration, render_progress
from clawft.errors import ClawftError
from clawft.jobs.fleet_feed import FeedState


def line(number: int, status: str = "done", fleet: str = "f1") -> str:
    return json.dumps({"line": number, "run": f"{fleet}.{number:06}", "status": status, "result": "é"}) + "\n"


@pytest.mark.parametrize(
    ("held", "after"),
    [
        ("", 0),
        (line(1) + line(2), 2),
        (line(1) + line(2)[:20], 1),
        (line(1) + line(2).rstrip("\n"), 1),
        (line(1) + line(2, "waiting") + line(3), 1),
        (line(1) + line(2, "failed") + line(3), 1),
        (line(1) + "no result\n" + line(3), 1),
    ],
)
def test_a_resumed_fleet_keeps_the_results_that_stand_and_writes_the_others_anew(
    tmp_path: Path, held: str, after: int
) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(held)

    with FleetOutput(str(path)) as output:
        output.go_on("f1")
        assert output.after == after
        output.write({"line": after + 1})

    assert path.read_text() == "".join(map(line, range(1, after + 1))) + f'{{"line":{after + 1}}}\n'


def test_a_new_fleet_begins_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(line(1, fleet="f0"))
    with FleetOutput(str(path)) as output:
        output.clear()
    assert path.read_text() == ""


def test_a_file_of_another_fleet_or_one_that_somebody_writes_or_a_link_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(line(1, fleet="f0"))
    with pytest.raises(ClawftError) as caught, FleetOutput(str(path)) as output:
        output.go_on("f1")
    assert caught.value.code == "fleet-output"

    with FleetOutput(str(path)), pytest.raises(ClawftError, match="Another process"):
        FleetOutput(str(path))
    assert path.read_text() == line(1, fleet="f0")

    (tmp_path / "link.jsonl").symlink_to(path)
    with pytest.raises(ClawftError, match="it is a link"):
        FleetOutput(str(tmp_path / "link.jsonl"))


def test_the_state_of_a_fleet_in_words() -> None:
    state = FeedState(total=10_000, done=1_203, failed=3, waiting=2, under_way=40, is_over=False)
    expected = "1,203 of 10,000 done, 3 failed, 2 waiting, 40 runs under way; 41.3 a second, 3 min 33 s left"
    assert render_progress(state, 41.3) == expected
    assert render_progress(FeedState(10, 0, 0, 0, 0, is_over=False), 0.0) == "0 of 10 done"
    times = {5: "5 s", 59.6: "1 min 0 s", 3_700: "1 h 1 min", 90_000: "1 d 1 h"}
    assert {seconds: render_duration(seconds) for seconds in times} == times


def test_where_nobody_watches_few_lines_are_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("clawft.cli.fleet_feed.time.monotonic", lambda: now)
    progress = FleetProgress()
    for step in range(3_001):
        now = step / 10
        progress.show(FeedState(3_000, step, 0, 0, 4, is_over=False))

    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 10, "of five minutes"
    assert all("; 10 a second, " in one for one in lines)
