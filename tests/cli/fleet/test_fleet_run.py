"""`weft fleet run` with a real worker: results in order, what is bad, and going on after it was left."""

import json
import signal

import pytest

from clawft.jobs.fleets import FleetStore
from fleet_world import FleetWorld

LINES = 40


def test_each_line_is_a_run_and_results_come_in_order_with_failures_said_at_the_end(world: FleetWorld) -> None:
    inputs = world.write("mixed.jsonl", "not json", {"args": "Ada", "id": 7}, {"args": "broken"}, '"Grace"')

    code, out, err = world.weft("fleet", "run", "--skill", "greet", "--inputs", inputs, "--skip-bad")

    assert code == 1
    results = [json.loads(line) for line in out.splitlines()]
    assert [(one["line"], one["status"]) for one in results] == [(1, "failed"), (2, "done"), (3, "failed"), (4, "done")]
    assert results[1]["input"] == {"args": "Ada", "id": 7}
    assert "Greet Ada." in results[1]["result"]
    assert results[1]["usage"]["input_tokens"] > 0
    assert results[2]["error"]["message"] == "It broke"
    assert "Greet Grace." in results[3]["result"]
    assert "line 1: failed: It is no JSON" in err
    assert "line 3: failed: It broke [provider-failed]" in err
    assert "2 of 4 done, 2 failed" in err
    fleet = results[3]["run"].partition(".")[0]
    assert f"try them again: weft fleet run --retry {fleet}" in err

    shown = json.loads(world.weft("fleet", "show", fleet, "--format", "json")[1])
    listed = json.loads(world.weft("runs", "list", "--fleet", fleet[:-2], "--format", "json")[1])["runs"]
    assert {one["fleet"] for one in listed} == {fleet}
    assert (shown["status"], shown["lines"], shown["runs"]["done"], shown["runs"]["failed"]) == ("failed", 4, 2, 1)
    assert [one["line"] for one in shown["trouble"]] == [3]
    again = world.weft("fleet", "run", "--retry", fleet)
    assert [json.loads(line)["status"] for line in again[1].splitlines()] == ["failed", "done", "failed", "done"]
    with world.runs() as runs:
        assert [run.attempt for run in FleetStore(runs.database).runs(fleet)] == [1, 2, 1]


def test_bad_lines_are_said_before_anything_is_started(world: FleetWorld) -> None:
    inputs = world.write("bad.jsonl", '"Ada"', "[1]", "nope")

    code, out, err = world.weft("fleet", "run", "--skill", "greet", "--inputs", inputs)

    assert (code, out) == (1, "")
    assert "bad.jsonl:2: It is neither a text nor an object" in err
    assert "bad.jsonl:3: It is no JSON" in err
    assert "error[fleet-lines]: 2 of 3 lines are no inputs, so nothing was started" in err
    with world.runs() as runs:
        assert not [one for one in FleetStore(runs.database).list() if "bad.jsonl" in one.spec.title]


def test_a_fleet_that_was_left_or_killed_goes_on_where_it_was(world: FleetWorld) -> None:
    inputs = world.write("many.jsonl", *(json.dumps(f"number {number}") for number in range(1, LINES + 1)))
    begin = ("fleet", "run", "--skill", "greet", "--inputs", inputs, "-o", "many.out", "--ahead", "6")

    said = world.break_off(world.begin(*begin), signal.SIGINT, lambda: len(world.read("many.out")) > 2)
    fleet = said.partition("go on: weft fleet run --resume ")[2].strip()
    assert fleet, said
    written = len(world.read("many.out"))
    assert written < LINES

    resume = ("fleet", "run", "--resume", fleet, "--ahead", "6")
    world.break_off(world.begin(*resume), signal.SIGKILL, lambda: len(world.read("many.out")) > written + 2)
    assert len(world.read("many.out")) < LINES
    with (world.project / "many.out").open("a") as file:
        file.write('{"line":')  # broken off in the middle

    code, _, err = world.weft("fleet", "run", "--resume", fleet)
    assert code == 0, err
    results = world.read("many.out")
    assert [one["line"] for one in results] == list(range(1, LINES + 1))
    assert all(f"Greet number {one['line']}." in one["result"] for one in results)
    with world.runs() as runs:
        done = FleetStore(runs.database).runs(fleet, limit=2 * LINES)
        assert [(run.line, run.attempt, run.steps) for run in done] == [(line, 1, 1) for line in range(1, LINES + 1)]

    world.write("many.jsonl", '"something else"')
    code, _, err = world.weft("fleet", "run", "--resume", fleet)
    assert code == 1
    assert "error[fleet-changed]" in err


@pytest.mark.soak
def test_a_fleet_that_is_cancelled_ends_what_is_open(world: FleetWorld) -> None:
    inputs = world.write("long.jsonl", *(json.dumps(f"number {number}") for number in range(400)))
    begin = ("fleet", "run", "--skill", "greet", "--inputs", inputs, "-o", "long.out")
    said = world.break_off(world.begin(*begin), signal.SIGINT, lambda: len(world.read("long.out")) > 0)
    fleet = said.partition("--resume ")[2].strip()

    code, told, _ = world.weft("fleet", "cancel", fleet, "--format", "json")
    assert code == 0
    assert [one["id"] for one in json.loads(told)["fleets"]] == [fleet]

    listed = json.loads(world.weft("fleet", "list", "--format", "json")[1])
    (one,) = [one for one in listed["fleets"] if one["id"] == fleet]
    assert one["runs"]["cancelled"] > 0
    assert (one["runs"]["queued"], one["runs"]["waiting"]) == (0, 0)
