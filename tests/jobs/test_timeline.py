"""What a run did, as one value: steps, forks, waits, crashes, what goes on now, and sums."""

from typing import Any

from msgspec.structs import replace

from clawft.agent.run_request import RunRequest
from clawft.jobs.engine import RecordedStep
from clawft.jobs.run_state import PendingQuestion, Run
from clawft.jobs.timeline import Timeline, TimelineEntry, make_timeline
from clawft.messages import ApprovalNeeded, Usage

RUN = Run(
    id="r",
    kind="agent",
    status="done",
    attempt=1,
    queue="default",
    title="t",
    session="s",
    worker="w",
    created=(at := "2026-06-01T08:00:0{}.000Z".format)(0),
    started=at(1),
    finished=at(9),
    steps=0,
    usage=Usage(),
    cost_usd=None,
    worked_ms=0,
    base=0,
    cancel=False,
    result=None,
    error=None,
    parent="",
    fleet="",
    line=-1,
    request=RunRequest(kind="agent", cwd="/", text="t"),
)


def step(place: str, second: int, ms: int, kind: str = "tool", *, attempt: int = 1, **more: Any) -> RecordedStep:
    value = {"kind": kind, "name": kind, "summary": "", "started": at(second), "ms": ms, "result": {}, **more}
    return RecordedStep(attempt, 1, place, value)


def model(place: str, second: int, ms: int, *calls: str, attempt: int = 1, **more: Any) -> RecordedStep:
    asked = [{"id": f"c{number}", "name": name, "arguments": {"path": "it"}} for number, name in enumerate(calls)]
    return step(place, second, ms, "model", attempt=attempt, result={"calls": asked}, **more)


def question(key: str, asked: int, answered: int | None = None, kind: Any = "approval") -> PendingQuestion:
    event = ApprovalNeeded(call="c", tool="exec_shell", question="Run: x?")
    answer = None if answered is None else "once"
    return PendingQuestion(
        "r", key, kind, event, at(asked), answer, None if answered is None else at(answered), "me@here"
    )


def make(*recorded: RecordedStep, run: Run = RUN, questions: Any = (), resumed: Any = ()) -> Timeline:
    return make_timeline(run, recorded, questions, resumed, at(9))


def brief(entry: TimelineEntry) -> tuple[str, str, int | None]:
    return entry.kind, entry.place, entry.ms


def test_steps_stand_in_the_order_in_which_they_began_with_their_place() -> None:
    line = make(step("1.0", 3, 20), model("1", 1, 900), step("1.0/1", 3, 10, "model"), step("2.c1", 5, 1, "command"))
    assert [(*brief(one), one.depth) for one in line.entries] == [
        ("queued", "", 1000, 0),
        ("model", "1", 900, 0),
        ("tool", "1.0", 20, 1),
        ("model", "1.0/1", 10, 2),
        ("command", "2.c1", 1, 1),
    ]


def test_sums_count_what_a_fork_did_once() -> None:
    usage = {"input_tokens": 10, "output_tokens": 2}
    line = make(
        model("1", 1, 1000, "Skill", usage=usage, cost_usd=0.5),
        step("1.0", 2, 4000),
        model("1.0/1", 2, 3000, usage=usage, cost_usd=0.25),
        step("1.0/1.0", 5, 500),
        questions=[question("1.0/1.0?1", 5, 6)],
    )
    totals = line.totals
    assert (totals.steps, totals.model_ms, totals.tool_ms, totals.waited_ms) == (4, 4000, 500 - 500, 1000)
    assert (totals.elapsed_ms, totals.usage, totals.cost_usd) == (9000, Usage(20, 4), 0.75)


def test_time_that_a_step_waited_for_a_person_is_not_its_own() -> None:
    line = make(step("2.0", 2, 5000), questions=[question("2.0?1", 3, 6)])
    assert [brief(one) for one in line.entries[1:]] == [("tool", "2.0", 2000), ("wait", "2.0", 3000)]
    assert (line.entries[2].answer, line.entries[2].by) == ("once", "me@here")


def test_a_wait_before_the_step_was_begun_again_takes_nothing_from_it() -> None:
    line = make(step("2.0", 6, 700, attempt=2), questions=[question("2.0?1", 2, 5)])
    assert [brief(one) for one in line.entries[1:]] == [("wait", "2.0", 3000), ("tool", "2.0", 700)]


def test_a_question_that_nobody_answered_goes_on() -> None:
    run = replace(RUN, status="waiting", finished=None)
    line = make(model("1", 1, 10, "exec_shell"), run=run, questions=[question("1.0?1", 3)])
    assert brief(line.entries[-1]) == ("wait", "1.0", None)
    assert line.entries[-1].status == "waiting"
    assert line.totals.waited_ms == 6000


def test_a_failed_call_says_so() -> None:
    line = make(step("1.0", 2, 5, result={"status": "error"}))
    assert line.entries[-1].status == "failed"


def test_a_worker_that_ended_is_marked_and_an_answer_is_not() -> None:
    recorded = [model("1", 1, 100), step("1.0", 4, 100), model("2", 7, 100, attempt=2)]
    told = [(at(3), "The run goes on after 1 steps, on vm-1~ab12"), (at(6), "The run goes on after 2 steps, on vm-2~c")]
    line = make(*recorded, run=replace(RUN, attempt=2), questions=[question("2?1", 5, 6)], resumed=told)
    again = [one for one in line.entries if one.kind == "resumed"]
    assert [(one.name, one.summary, one.started) for one in again] == [("worker-ended", "vm-1", at(3))]


def test_a_worker_that_ended_before_a_question_is_marked_though_the_answer_began_an_attempt() -> None:
    recorded = [model("1", 1, 100, "exec_shell"), step("1.0", 7, 100, attempt=2)]
    told = [(at(3), "The run goes on after 1 steps, on vm-1~ab12")]
    line = make(*recorded, run=replace(RUN, attempt=2), questions=[question("1.0~x", 4, 6, "in-flight")], resumed=told)
    assert [one.name for one in line.entries if one.kind == "resumed"] == ["worker-ended"]


def test_a_run_that_somebody_had_tried_again_is_marked() -> None:
    told = [(at(5), "The run goes on after 1 steps, on vm-2~c")]
    line = make(model("1", 1, 100), model("2", 6, 100, attempt=2), run=replace(RUN, attempt=2), resumed=told)
    assert [(one.name, one.attempt) for one in line.entries if one.kind == "resumed"] == [("again", 2)]


RUNNING = replace(RUN, status="running", finished=None)


def flying(timeline: Timeline) -> list[tuple[str, str, str]]:
    return [(one.kind, one.place, one.name) for one in timeline.entries if one.status == "running"]


def test_the_first_answer_is_in_flight_before_anything_is_recorded() -> None:
    assert flying(make(run=RUNNING)) == [("model", "1", "")]
    assert flying(make(run=RUN)) == []


def test_calls_without_a_result_are_in_flight_and_those_of_their_forks() -> None:
    line = make(
        model("1", 1, 100, "read_file", "Skill"),
        step("1.0", 2, 5),
        model("1.1/1", 3, 10, "grep"),
        run=RUNNING,
    )
    assert flying(line) == [("tool", "1.1", "Skill"), ("tool", "1.1/1.0", "grep")]
    assert line.entries[-1].summary == "it"


def test_the_next_answer_is_in_flight_when_all_calls_have_results() -> None:
    line = make(model("1", 1, 1000, "read_file"), step("1.0", 2, 500), run=RUNNING)
    assert flying(line) == [("model", "2", "")]
    assert line.entries[-1].started == "2026-06-01T08:00:02.500Z"


def test_a_call_that_asks_is_told_by_its_question() -> None:
    line = make(model("1", 1, 1000, "exec_shell"), run=RUNNING, questions=[question("1.0?1", 2)])
    assert flying(line) == []
