"""The observer that reports a worker's runs and steps as spans and metrics."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec

from msgspec import Struct

from clawft.jobs.engine import RecordedStep
from clawft.jobs.observer import ObservedOutcome, ObservedStep, RunObserver
from clawft.jobs.run_state import OVER, PendingQuestion, Run, WorkerRow
from clawft.jobs.store import RunStore
from clawft.jobs.telemetry.export import (
    Meters,
    SpanSender,
    TelemetryDelivery,
    TelemetryExporters,
    TraceSpan,
    read_ns,
    span_id,
)


def _times(step: Mapping[str, Any]) -> tuple[int, int]:
    start = read_ns(step["started"])
    return start, start + (step["ms"] + 1) * 1_000_000  # both are cut to whole milliseconds


_ELSEWHERE = ("parked", "stopped", "lost")  # what is broken off here, and goes on
P = ParamSpec("P")


class _Open(Struct):
    """Something that is being done: when it began by the clock of the wall, and by one that never jumps."""

    start_ns: int
    begun_ns: int
    waited_ns: int = 0

    @classmethod
    def now(cls) -> "_Open":
        return cls(time.time_ns(), time.monotonic_ns())

    @property
    def took_ns(self) -> int:
        return time.monotonic_ns() - self.begun_ns

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.took_ns


def _safe(method: "Callable[Concatenate[Telemetry, P], None]") -> "Callable[Concatenate[Telemetry, P], None]":
    """No run fails because it is watched."""

    @wraps(method)
    def call(self: "Telemetry", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.complain(error)

    return call


class Telemetry(RunObserver):
    """Sends what it sees. Called by the event loop, and by the thread that looks after dead workers."""

    def __init__(
        self,
        pipes: TelemetryExporters,
        delivery: TelemetryDelivery,
        store: RunStore,
        recorded: Callable[[Run], Sequence[RecordedStep]],
    ) -> None:
        self._pipes = pipes
        self._delivery = delivery
        self._store = store
        self._recorded = recorded
        self._spans = SpanSender(pipes.tracing, pipes.ids)
        self._meters = Meters(pipes.metering, store.counts, lambda: len(store.roster.workers()))
        self._attempts: dict[tuple[str, int], _Open] = {}
        self._steps: dict[tuple[str, str], _Open] = {}

    @_safe
    def begun(self, seen: Run, *, is_first: bool) -> None:
        self._attempts.setdefault((seen.id, seen.attempt), _Open.now())
        if is_first:
            self._meters.started.add(1, {"weft.run.kind": seen.kind})

    @_safe
    def ended(self, seen: Run, outcome: ObservedOutcome) -> None:
        if not outcome.status and outcome.error not in _ELSEWHERE:
            return  # the database broke it off, and it is begun again here
        attempt = self._attempts.pop((seen.id, seen.attempt), None) or _Open.now()
        if outcome.error != "lost":  # else it was sent by the worker that declared this one dead
            self._send_attempt(seen, attempt.start_ns, attempt.end_ns, outcome)
        if outcome.status in OVER:
            self._meters.finished.add(1, {"weft.run.kind": seen.kind, "weft.run.status": outcome.status})
            self._send_run(seen, attempt.end_ns, outcome)

    @_safe
    def step_begun(self, seen: Run, step: ObservedStep) -> None:
        self._steps[seen.id, step.place] = _Open.now()

    @_safe
    def step_ended(self, seen: Run, step: ObservedStep, outcome: ObservedOutcome) -> None:
        done = self._steps.pop((seen.id, step.place), None) or _Open.now()
        took_ns = done.took_ns if outcome.ms is None else outcome.ms * 1_000_000
        model = _describe_model(step)
        if outcome.error not in _ELSEWHERE:
            failed = {"error.type": outcome.error} if outcome.error else {}
            worked_s = max(0, took_ns - done.waited_ns) / 1e9
            self._meters.duration.record(worked_s, {"weft.step.kind": step.kind, **failed})
        for kind, tokens in (("input", outcome.usage.input_tokens), ("output", outcome.usage.output_tokens)):
            if tokens:
                self._meters.tokens.record(tokens, {**model, "gen_ai.token.type": kind})
        if outcome.cost_usd:
            self._meters.cost.add(outcome.cost_usd, model)
        self._spans.send(
            TraceSpan(
                run=seen.id,
                id=span_id(seen.id, seen.attempt, seen.worker, step.place, done.begun_ns),  # it may be tried again
                parent=span_id(seen.id, seen.attempt, seen.worker),
                name=_name(step),
                start_ns=done.start_ns,
                end_ns=done.start_ns + took_ns,
                attributes={
                    **_describe(seen),
                    **_describe_step(step),
                    **model,
                    **_count(outcome),
                    **_interrupt(outcome),
                },
                error=_error(outcome),
                is_call=step.kind == "model",
            )
        )

    @_safe
    def answered(self, seen: Run, asked: PendingQuestion) -> None:
        start_ns, end_ns = read_ns(asked.asked), read_ns(asked.answered) if asked.answered else time.time_ns()
        for (run, place), step in self._steps.items():
            if run == seen.id and asked.key.startswith((f"{place}?", f"{place}~")):
                step.waited_ns += min(step.took_ns, max(0, end_ns - max(start_ns, step.start_ns)))
        self._spans.send(
            TraceSpan(
                run=seen.id,
                id=span_id(seen.id, "wait", asked.key),
                parent=span_id(seen.id),  # it may have gone on over several attempts
                name=f"wait {asked.kind}",
                start_ns=start_ns,
                end_ns=end_ns,
                attributes={**_describe_run(seen), "weft.wait.kind": asked.kind},
            )
        )

    @_safe
    def doubted(self, seen: Run, step: ObservedStep, how: Literal["checked", "asked"]) -> None:
        labels = {"weft.run.kind": seen.kind, "gen_ai.tool.name": step.name, "weft.step.doubt": how}
        self._meters.doubted.add(1, labels)

    @_safe
    def retried(self) -> None:
        self._meters.retried.add(1)

    def find_held(self, worker: WorkerRow) -> object:
        """The runs that a worker has, with the times of its first and its last sign of life in each."""
        try:
            running = self._store.list(statuses=("running",), worker=worker.id)
            return [(run, *self._find_times(run)) for run in running]
        except Exception as error:
            self.complain(error)
            return []

    def _find_times(self, run: Run) -> tuple[int, int]:
        """From its first step to the end of its last one, as far as any is recorded; else after what others did."""
        steps: list[dict[str, Any]] = [
            recorded_step.value for recorded_step in self._recorded(run) if isinstance(recorded_step.value, dict)
        ]
        own = [_times(step) for step in steps if step.get("worker") == run.worker]
        others = [_times(step) for step in steps if step.get("worker") != run.worker]
        begun = max((end for _, end in others), default=read_ns(run.started or run.created))
        start = min((start for start, _ in own), default=begun)
        return start, max((end for _, end in own), default=start)

    @_safe
    def died(self, worker: WorkerRow, held: object) -> None:
        self._meters.died.add(1)
        assert isinstance(held, list)
        for run, start_ns, last_ns in held:
            end_ns = max(last_ns, read_ns(worker.seen))
            self._send_attempt(run, start_ns, end_ns, ObservedOutcome(error="worker-died"))

    def close(self) -> None:
        self._pipes.close()
        self._delivery.close()

    def complain(self, error: Exception) -> None:
        self._delivery.fail(error)

    def _send_attempt(self, seen: Run, start_ns: int, end_ns: int, outcome: ObservedOutcome) -> None:
        status = {"weft.run.status": outcome.status} if outcome.status else {}
        self._spans.send(
            TraceSpan(
                run=seen.id,
                id=span_id(seen.id, seen.attempt, seen.worker),
                parent=span_id(seen.id),
                name=f"attempt {seen.attempt}",
                start_ns=start_ns,
                end_ns=end_ns,
                attributes={**_describe(seen), **status, **_interrupt(outcome)},
                error=_error(outcome),
            )
        )

    def _send_run(self, seen: Run, end_ns: int, outcome: ObservedOutcome) -> None:
        more: dict[str, Any] = {"weft.run.queue": seen.queue, "weft.run.status": outcome.status}
        more |= {"weft.run.fleet": seen.fleet} if seen.fleet else {}
        more |= {"weft.run.steps": outcome.steps, **_count(outcome)}
        self._spans.send(
            TraceSpan(
                run=seen.id,
                id=span_id(seen.id),
                parent=None,
                name=f"run {seen.kind}",
                start_ns=read_ns(seen.started or seen.created),
                end_ns=end_ns,
                attributes={**_describe_run(seen), **more},
                error=outcome.error,
                linked=seen.parent,
            )
        )


def _error(outcome: ObservedOutcome) -> str:
    return "" if outcome.error in _ELSEWHERE else outcome.error


def _interrupt(outcome: ObservedOutcome) -> dict[str, Any]:
    return {"weft.interrupted": outcome.error} if outcome.error in _ELSEWHERE else {}


def _describe_run(seen: Run) -> dict[str, Any]:
    return {"weft.run.id": seen.id, "weft.run.kind": seen.kind}


def _describe(seen: Run) -> dict[str, Any]:
    return {**_describe_run(seen), "weft.attempt": seen.attempt, "weft.worker.id": seen.worker}


def _describe_step(step: ObservedStep) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "weft.step.kind": step.kind,
        "weft.step.name": step.name,
        "weft.step.place": step.place,
        "weft.step.repeatable": step.repeatable,
    }
    if step.kind == "tool":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step.name}
    return attributes


def _describe_model(step: ObservedStep) -> dict[str, str]:
    if step.kind != "model":
        return {}
    provider, _, model = step.name.partition("/")
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model or provider}
    return {**attributes, "gen_ai.provider.name": provider} if model else attributes


def _count(outcome: ObservedOutcome) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if outcome.usage.input_tokens or outcome.usage.output_tokens:
        attributes["gen_ai.usage.input_tokens"] = outcome.usage.input_tokens
        attributes["gen_ai.usage.output_tokens"] = outcome.usage.output_tokens
    if outcome.cost_usd is not None:
        attributes["weft.cost_usd"] = outcome.cost_usd
    return attributes


def _name(step: ObservedStep) -> str:
    if step.kind == "model":
        return f"chat {_describe_model(step)['gen_ai.request.model']}"
    return f"{'execute_tool' if step.kind == 'tool' else step.kind} {step.name}"
