"""Traces and metrics, as a collector gets them from real workers."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.agent.run_request import RunRequest
from clawft.config.jobs import RunsSettings
from clawft.errors import ClawftError
from clawft.jobs.database import make_url, open_engine
from clawft.jobs.observer import ObservedOutcome, ObservedStep, RunObserver
from clawft.jobs.run_state import PendingQuestion, make_row, to_run
from clawft.jobs.runs import Runs
from clawft.jobs.telemetry import open_telemetry
from clawft.jobs.worker import RunWorker, WorkerPlan
from clawft.messages import ApprovalNeeded, Usage
from collector import Arrived, Collector
from runs_world import RunsWorld

_PROMPT, _ARGUMENT, _ANSWER = "xyzzy-of-the-user", "plugh-of-the-model", "plover-of-the-answer"
_NOTHING_LISTENS = "http://127.0.0.1:9"


def make_world(folder: Path, url: str, *, delay_ms: float = 0) -> RunsWorld:
    call = {"name": "glob", "arguments": {"pattern": f"*{_ARGUMENT}"}}
    steps: list[dict[str, Any]] = [{"tool_calls": [call]}, {"text": _ANSWER, "delay_ms": delay_ms}]
    world = RunsWorld(folder, steps, runs=f'telemetry = "{url}"\nlease_s = 1\npoll_s = 0.05\n')
    world.environ |= {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
    return world


def start(world: RunsWorld) -> str:
    with world.runs() as runs:
        return runs.start(world.request(_PROMPT))


def named(spans: list[Arrived], name: str) -> list[Arrived]:
    return [one for one in spans if one.name == name]


def total(metrics: dict[str, Any], name: str, **labels: str) -> float:
    """The sum of a metric over all who reported it; an underscore in a label stands for a dot."""
    wanted = {key.replace("__", "."): value for key, value in labels.items()}.items()
    return float(sum(value for told, value in metrics[name] if wanted <= told.items()))


def test_attempts_of_a_killed_worker_and_of_the_next_are_one_trace(tmp_path: Path) -> None:
    with Collector() as collector:
        world = make_world(tmp_path, collector.url, delay_ms=60_000)
        run = start(world)
        with world.workers(1, 1) as (first,):
            collector.wait_for(lambda them: named(them.spans(), "execute_tool glob"))
            collector.wait_for(lambda them: "weft.runs.started" in them.metrics())
            first.send_signal(signal.SIGKILL)
            make_world(tmp_path, collector.url, delay_ms=200)
            with world.workers(1, 1, "--until-idle") as (second,):
                assert second.wait(60) == 0, world.log()
        spans, metrics, sent = collector.spans(), collector.metrics(), collector.bytes()

    assert len({one.trace for one in spans}) == 1
    assert len({one.id for one in spans}) == len(spans)
    (root,) = named(spans, "run agent")
    assert (root.parent, root.is_error) == ("", False)
    assert {key: root.attributes[key] for key in ("weft.run.id", "weft.run.status", "weft.run.steps")} == {
        "weft.run.id": run,
        "weft.run.status": "done",
        "weft.run.steps": 3,
    }
    dead, alive = sorted(named(spans, "attempt 1"), key=lambda one: one.start_ns)
    assert [one.attributes.get("error.type") for one in (dead, alive)] == ["worker-died", None]
    assert dead.attributes["weft.worker.id"] != alive.attributes["weft.worker.id"]
    assert [one.parent for one in (dead, alive)] == [root.id, root.id]

    steps = sorted((one for one in spans if "weft.step.kind" in one.attributes), key=lambda one: one.start_ns)
    assert [(one.name, one.parent) for one in steps] == [
        ("chat m", dead.id),
        ("execute_tool glob", dead.id),
        ("chat m", alive.id),
    ]
    assert {"gen_ai.provider.name": "s", "gen_ai.request.model": "m", "weft.step.place": "1"}.items() <= (
        steps[0].attributes.items()
    )
    assert steps[0].attributes["gen_ai.usage.input_tokens"] > 0
    assert (steps[1].attributes["gen_ai.tool.name"], steps[1].attributes["weft.step.repeatable"]) == ("glob", True)
    assert steps[2].end_ns - steps[2].start_ns >= 200_000_000
    by_id = {one.id: one for one in spans}
    for one in spans:
        assert one.start_ns <= one.end_ns
        if one.parent:
            assert by_id[one.parent].start_ns <= one.start_ns
            assert one.end_ns <= by_id[one.parent].end_ns + 1_000_000  # attempts are kept in milliseconds
    assert root.resource["service.name"] == "weft"
    assert root.resource["service.instance.id"] == alive.attributes["weft.worker.id"]

    assert total(metrics, "weft.runs.started", weft__run__kind="agent") == 1
    assert total(metrics, "weft.runs.finished", weft__run__status="done", weft__run__kind="agent") == 1
    assert total(metrics, "weft.workers.died") == 1
    assert total(metrics, "weft.step.duration", weft__step__kind="model") >= 0.2
    assert total(metrics, "gen_ai.client.token.usage", gen_ai__token__type="output", gen_ai__request__model="m") > 0
    for text in (_PROMPT, _ARGUMENT, _ANSWER, str(tmp_path)):
        assert text.encode() not in sent


def test_a_collector_that_is_away_delays_no_run_and_is_told_of_once(tmp_path: Path) -> None:
    world = make_world(tmp_path, _NOTHING_LISTENS)
    world.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "0.2"
    run = start(world)
    with world.workers(1, 1, "--until-idle") as (worker,):
        assert worker.wait(60) == 0, world.log()
    with world.runs() as runs:
        done = runs.store.get(run)
    assert (done.status, done.steps) == ("done", 3)
    assert done.worked_ms < 5_000
    assert world.log().count("telemetry-unreachable") == 1
    assert world.log().count("5 spans of runs could not be sent to http://127.0.0.1:9") == 1


@contextmanager
def watching(folder: Path, url: str, said: list[ClawftError]) -> Iterator[RunObserver]:
    """What a worker has to tell a collector with."""

    async def nobody(*_: object) -> None:
        raise AssertionError("nothing is done here")

    database = open_engine(make_url(RunsSettings(), str(folder), {}))
    plan = WorkerPlan(("default",), 1, 1, 0.05)
    worker = RunWorker(database, plan, nobody, {}, print, said.append)  # type: ignore[arg-type]
    observer = open_telemetry(url, worker, {"OTEL_BSP_SCHEDULE_DELAY": "50"})
    try:
        yield observer
    finally:
        observer.close()
        database.dispose()


_ROW = (
    make_row("r1", RunRequest(kind="agent", cwd="/"), "default", "2026-01-01T00:00:00.000Z")
    | {"attempt": 2, "worker": "w", "parent": "r0", "started": "2026-01-01T00:00:00.000Z"}
    | dict.fromkeys(("finished", "cost_usd", "base", "result", "error"))
)
_SEEN = to_run(_ROW)
_ASKED = ApprovalNeeded(call="c", tool="write_file", question="May it?")
_CALL = ObservedStep("1.0", "tool", "write_file", False)


@pytest.mark.soak
def test_a_collector_that_never_answers_holds_up_neither_steps_nor_the_end(tmp_path: Path) -> None:
    said: list[ClawftError] = []
    with Collector(stalls=True) as collector:
        begun = time.monotonic()
        with watching(tmp_path, collector.url, said) as observer:
            for _ in range(4_500):
                observer.step_begun(_SEEN, _CALL)
                observer.step_ended(_SEEN, _CALL, ObservedOutcome())
            took_s = time.monotonic() - begun
        assert took_s < 10
        assert time.monotonic() - begun - took_s < 6
    assert [(one.code, str(one).split()[0]) for one in said] == [("telemetry-lost", "4500")]


def test_that_nothing_arrives_is_said_once_while_the_worker_goes_on(
    tmp_path: Path, environ: MutableMapping[str, str]
) -> None:
    environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "0.2"
    said: list[ClawftError] = []
    with watching(tmp_path, "http://user:hunter2@127.0.0.1:9", said) as observer:
        for number in range(1, 4):
            observer.step_begun(_SEEN, _CALL)
            observer.step_ended(_SEEN, _CALL, ObservedOutcome())
            deadline = time.monotonic() + 60
            while number == 1 and not said and time.monotonic() < deadline:
                time.sleep(0.02)
    assert [one.code for one in said] == ["telemetry-unreachable", "telemetry-lost"]
    assert str(said[1]) == "3 spans of runs could not be sent to http://127.0.0.1:9"
    assert "hunter2" not in str(said[0])


def test_a_mistake_in_telling_fails_no_run(tmp_path: Path) -> None:
    said: list[ClawftError] = []
    with Collector() as collector, watching(tmp_path, collector.url, said) as observer:
        observer.answered(_SEEN, PendingQuestion("r1", "1.0?1", "approval", _ASKED, "no time at all"))
    assert [one.code for one in said] == ["telemetry-failed"]


def test_who_configures_no_collector_loads_nothing_of_it() -> None:
    heavy = "[one for one in sys.modules if one.startswith(('opentelemetry.sdk', 'requests'))]"
    code = f"import sys, clawft.app.jobs, clawft.jobs.worker; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_the_time_a_person_takes_is_a_span_of_its_own_and_not_of_the_step(tmp_path: Path) -> None:
    said: list[ClawftError] = []
    with Collector() as collector:
        with watching(tmp_path, collector.url, said) as observer:
            observer.begun(_SEEN, is_first=False)
            observer.step_begun(_SEEN, _CALL)
            observer.answered(
                _SEEN,
                PendingQuestion(
                    "r1", "1.0?1", "approval", _ASKED, "2026-01-01T00:00:01.000Z", answered="2026-01-03T00:00:01.000Z"
                ),
            )
            observer.doubted(_SEEN, _CALL, "asked")
            observer.retried()
            observer.step_ended(_SEEN, _CALL, ObservedOutcome(error="PERMISSION_DENIED"))
            observer.ended(_SEEN, ObservedOutcome("failed", "budget-spent", 1))
        spans, metrics = {one.name: one for one in collector.spans()}, collector.metrics()
    assert list(spans) == ["wait approval", "execute_tool write_file", "attempt 2", "run agent"]
    wait, step, attempt, root = spans.values()
    assert (wait.parent, wait.end_ns - wait.start_ns) == (root.id, 2 * 86_400 * 10**9)
    assert (step.parent, attempt.parent) == (attempt.id, root.id)
    assert (step.is_error, step.attributes["error.type"]) == (True, "PERMISSION_DENIED")
    assert (root.is_error, root.attributes["error.type"], len(root.links)) == (True, "budget-spent", 1)
    assert total(metrics, "weft.steps.in_flight", gen_ai__tool__name="write_file", weft__step__doubt="asked") == 1
    assert total(metrics, "weft.database.retries") == 1
    assert "weft.runs.started" not in metrics
    assert not said


def test_an_answer_that_broke_off_and_is_asked_for_again_is_two_spans(tmp_path: Path) -> None:
    said: list[ClawftError] = []
    answer = ObservedStep("1", "model", "openai/gpt", True)
    with Collector() as collector:
        with watching(tmp_path, collector.url, said) as observer:
            for outcome in (ObservedOutcome(error="stream-cut"), ObservedOutcome(ms=5, usage=Usage(3), cost_usd=0.25)):
                observer.step_begun(_SEEN, answer)
                observer.step_ended(_SEEN, answer, outcome)
        spans, metrics = collector.spans(), collector.metrics()
    assert [one.attributes.get("error.type") for one in spans] == ["stream-cut", None]
    assert len({one.id for one in spans}) == 2
    assert total(metrics, "weft.cost", gen_ai__request__model="gpt", gen_ai__provider__name="openai") == 0.25
    assert not said


def test_an_attempt_that_the_database_broke_off_is_one_span(tmp_path: Path) -> None:
    with Collector() as collector:
        with watching(tmp_path, collector.url, []) as observer:
            observer.begun(_SEEN, is_first=False)
            observer.ended(_SEEN, ObservedOutcome())
            observer.begun(_SEEN, is_first=False)
            observer.ended(_SEEN, ObservedOutcome("failed", "run-deadly"))
        spans = collector.spans()
    assert [(one.name, one.attributes["error.type"]) for one in spans] == [
        ("attempt 2", "run-deadly"),
        ("run agent", "run-deadly"),
    ]


@pytest.mark.parametrize("ending", ["parked", "stopped", "lost"])
def test_what_goes_on_elsewhere_did_not_fail(tmp_path: Path, ending: str) -> None:
    with Collector() as collector:
        with watching(tmp_path, collector.url, []) as observer:
            observer.begun(_SEEN, is_first=False)
            observer.step_begun(_SEEN, _CALL)
            observer.step_ended(_SEEN, _CALL, ObservedOutcome(error=ending))
            observer.ended(_SEEN, ObservedOutcome("waiting" if ending == "parked" else "", ending))
        spans = collector.spans()
    assert [one.name for one in spans] == ["execute_tool write_file", "attempt 2"][: 1 if ending == "lost" else 2]
    assert {(one.is_error, one.attributes["weft.interrupted"]) for one in spans} == {(False, ending)}


def test_how_many_runs_wait_is_told_for_the_whole_database(tmp_path: Path) -> None:
    with Collector() as collector:
        with watching(tmp_path, collector.url, []):
            runs = Runs(RunsSettings(), str(tmp_path), {})
            for _ in range(3):
                run = runs.start(RunRequest(kind="agent", cwd=str(tmp_path)))
            runs.store.begin(run, 1, "w")
            runs.close()
        metrics = collector.metrics()
    told = {labels["weft.run.status"]: value for labels, value in metrics["weft.runs"]}
    assert told == {"queued": 2, "running": 1, "waiting": 0}
    assert total(metrics, "weft.workers") == 0


def test_a_sampler_takes_all_spans_of_a_trace_or_none(tmp_path: Path, environ: MutableMapping[str, str]) -> None:
    environ.update({"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"})
    count = 40
    with Collector() as collector:
        with watching(tmp_path, collector.url, []) as observer:
            for number in range(count):
                seen = msgspec.structs.replace(_SEEN, id=f"r{number}", parent="")
                observer.begun(seen, is_first=True)
                observer.step_begun(seen, _CALL)
                observer.step_ended(seen, _CALL, ObservedOutcome())
                observer.ended(seen, ObservedOutcome("done"))
        traces = Counter(one.trace for one in collector.spans())
    assert set(traces.values()) == {3}
    assert 5 < len(traces) < count - 5


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "ftp://127.0.0.1/", "http://", "http://[::1"])
def test_an_address_that_cannot_be_meant_is_said_and_nothing_is_sent(tmp_path: Path, url: str) -> None:
    said: list[ClawftError] = []
    with watching(tmp_path, url, said) as observer:
        observer.begun(_SEEN, is_first=True)
        observer.ended(_SEEN, ObservedOutcome("done"))
    assert [one.code for one in said] == ["telemetry-address"]


def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    said: list[ClawftError] = []
    with watching(tmp_path, "http://127.0.0.1:4318", said) as observer:
        observer.begun(_SEEN, is_first=True)
    assert [(one.code, one.hint) for one in said] == [("telemetry-missing", "Install clawft[telemetry]")]
