"""The OpenTelemetry exporters: spans with ids derived from the run, meters, and a bounded queue that sends both."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

import requests
from msgspec import Struct
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from clawft.errors import ClawftError
from clawft.jobs.worker_registry import this_host

_SCOPE = "clawft.runs"
_MAX_NAME = 128
Value = str | bool | int | float


class TraceSpan(Struct, frozen=True, kw_only=True):
    """A span that is over. `parent` is the id of another one in the trace of the run; None for the run itself."""

    run: str
    id: int
    parent: int | None
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    error: str = ""
    is_call: bool = False  # to another service
    linked: str = ""  # a run that this one belongs to


class FixedIds(IdGenerator):
    """Gives the ids that were put in."""

    trace = span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class SpanSender:
    """Sends spans. May be used by several threads."""

    def __init__(self, provider: TracerProvider, ids: FixedIds) -> None:
        self._sampler = provider.sampler
        self._tracer = provider.get_tracer(_SCOPE)
        self._ids = ids
        self._lock = threading.Lock()

    def send(self, span: TraceSpan) -> None:
        trace = _trace_id(span.run)
        context = Context()
        if span.parent is not None:
            context = set_span_in_context(NonRecordingSpan(self._refer(trace, span.parent)), context)
        links = [Link(self._refer(_trace_id(span.linked), span_id(span.linked)))] if span.linked else []
        attributes = dict(span.attributes)
        if span.error:
            attributes["error.type"] = span.error
        with self._lock:
            self._ids.trace, self._ids.span = trace, span.id
            made = self._tracer.start_span(
                span.name[:_MAX_NAME],
                context,
                SpanKind.CLIENT if span.is_call else SpanKind.INTERNAL,
                attributes,
                links,
                span.start_ns,
            )
        if span.error:
            made.set_status(Status(StatusCode.ERROR, span.error))
        made.end(max(span.end_ns, span.start_ns))

    def _refer(self, trace: int, span: int) -> SpanContext:
        """Return a reference to a span that another worker may send. A sampler takes all spans of a trace, on every
        worker, or none."""
        taken = self._sampler.should_sample(None, trace, "run").decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if taken else TraceFlags.DEFAULT)
        return SpanContext(trace, span, is_remote=True, trace_flags=flags)


def span_id(run: str, *parts: object) -> int:
    """The id of the span of a run, or of something in it."""
    return _digest("span", run, *parts) >> 192 or 1


def _trace_id(run: str) -> int:
    return _digest("trace", run) >> 128 or 1


def _digest(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest())


def read_ns(text: str) -> int:
    """A time as it is recorded, in nanoseconds since 1970."""
    return round(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000


_STATUSES = ("queued", "running", "waiting")
_SECONDS = (0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 900)
_TOKENS = tuple(4.0**power for power in range(14))  # as the conventions for generative AI have it


class Meters:
    """The instruments. `counts` and `workers` ask the database, in the thread that reads metrics."""

    def __init__(
        self, provider: MeterProvider, counts: Callable[[], Mapping[str, int]], workers: Callable[[], int]
    ) -> None:
        meter = provider.get_meter(_SCOPE)
        self.started = meter.create_counter("weft.runs.started", "{run}", "Runs that were begun")
        self.finished = meter.create_counter("weft.runs.finished", "{run}", "Runs that are over, by status")
        self.doubted = meter.create_counter(
            "weft.steps.in_flight", "{step}", "Steps that must not be repeated and were in flight when a worker died"
        )
        self.retried = meter.create_counter(
            "weft.database.retries", "{retry}", "How often the database was tried again"
        )
        self.died = meter.create_counter("weft.workers.died", "{worker}", "Workers that this one found dead")
        self.cost = meter.create_counter("weft.cost", "USD", "What models were paid, where their price is known")
        self.duration = meter.create_histogram(
            "weft.step.duration",
            "s",
            "How long steps took, without the time that they waited for a person",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of one call, in and out",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        meter.create_observable_gauge(
            "weft.runs", [_ask(lambda: _count(counts()))], "{run}", "Runs in the database that are not over, by status"
        )
        meter.create_observable_gauge(
            "weft.workers", [_ask(lambda: [Observation(workers())])], "{worker}", "Workers in the database"
        )


def _count(counts: Mapping[str, int]) -> list[Observation]:
    return [Observation(counts.get(status, 0), {"weft.run.status": status}) for status in _STATUSES]


def _ask(read: Callable[[], list[Observation]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        try:
            return read()
        except ClawftError:  # a database that is away is said elsewhere
            return []

    return observe


_QUEUE = 4096  # spans that wait to be sent
_DELAY_MS = 1_000  # until they are sent: what a worker that is killed has not sent is lost
_CLOSE_S = 2.0  # for what is left when the worker ends


class TelemetryDelivery:
    """The delivery status of telemetry. It warns once when sending fails, and at the end reports how much was lost."""

    def __init__(self, where: str, warn: Callable[[ClawftError], None]) -> None:
        self._where = where
        self._warn = warn
        self._lock = threading.Lock()
        self._waiting = 0
        self._lost = 0
        self._is_failing = False

    def admit(self) -> bool:
        """Return whether one more span may wait; one that may not is lost."""
        with self._lock:
            if self._waiting >= _QUEUE:
                self._lost += 1
                return False
            self._waiting += 1
            return True

    def note(self, *, arrived: bool, spans: int = 0) -> None:
        """Something was sent: so many spans, or metrics."""
        with self._lock:
            self._waiting -= spans
            self._lost += 0 if arrived else spans
            is_news = not arrived and not self._is_failing
            self._is_failing = not arrived
        if is_news:
            message = f"Traces and metrics do not arrive at {self._where}; runs go on, and what cannot be sent is lost"
            self._warn(ClawftError("telemetry-unreachable", message, hint="Check that a collector listens there"))

    def fail(self, error: Exception) -> None:
        """Something went wrong on this side."""
        message = f"What a run did could not be told to {self._where}: {error!r}"
        self._warn(ClawftError("telemetry-failed", message, hint="The run itself goes on"))

    def close(self) -> None:
        """No more is sent."""
        with self._lock:
            lost = self._lost + self._waiting
        if lost:
            message = f"{lost} spans of runs could not be sent to {self._where}"
            self._warn(ClawftError("telemetry-lost", message, hint="The runs themselves are complete: weft runs show"))


class TelemetryExporters(Struct, frozen=True):
    """The exporters of spans and metrics."""

    ids: FixedIds
    tracing: TracerProvider
    metering: MeterProvider

    def close(self) -> None:
        """Send what is left, within a bound: a collector that does not answer holds nobody up."""
        ends = (self.tracing.shutdown, self.metering.shutdown)
        closing = [threading.Thread(target=_quietly, args=(end,), daemon=True) for end in ends]
        for thread in closing:
            thread.start()
        until = time.monotonic() + _CLOSE_S
        for thread in closing:
            thread.join(max(0, until - time.monotonic()))


def open_exporters(
    url: str, worker: str, delivery: TelemetryDelivery, environ: Mapping[str, str], *, is_local: bool
) -> TelemetryExporters:
    """Open the exporters to a collector. The `OTEL_` variables for headers, timeouts and certificates are followed."""
    logger = logging.getLogger("opentelemetry")  # it speaks of every batch; we say once what is wrong
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    resource = Resource.create(
        {
            "service.name": "weft",
            "service.version": version("clawft"),
            "service.instance.id": worker,
            "host.name": this_host().partition("/")[0],
            "process.pid": os.getpid(),
        }
    )
    ids = FixedIds()
    tracing = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    asked = environ.get("OTEL_BSP_SCHEDULE_DELAY", "")
    delay_ms = int(asked) if asked.isdecimal() and int(asked) else _DELAY_MS
    spans = _Spans(delivery, endpoint=f"{url}/v1/traces", session=_open_session(is_local=is_local))
    tracing.add_span_processor(_Bounded(delivery, spans, delay_ms))
    metrics = _Metrics(delivery, endpoint=f"{url}/v1/metrics", session=_open_session(is_local=is_local))
    reader = PeriodicExportingMetricReader(metrics)
    return TelemetryExporters(ids, tracing, MeterProvider([reader], resource=resource, shutdown_on_exit=False))


def _open_session(*, is_local: bool) -> requests.Session:
    session = requests.Session()
    session.trust_env = not is_local  # no proxy stands between this machine and itself
    return session


def _quietly(end: Callable[[], object]) -> None:
    try:
        end()
    except Exception:
        logging.getLogger(__name__).debug("telemetry was not shut down in order", exc_info=True)


class _Bounded(BatchSpanProcessor):
    def __init__(self, delivery: TelemetryDelivery, exporter: SpanExporter, delay_ms: float) -> None:
        super().__init__(exporter, max_queue_size=_QUEUE, schedule_delay_millis=delay_ms)
        self._delivery = delivery

    def on_end(self, span: ReadableSpan) -> None:
        if self._delivery.admit():
            super().on_end(span)


class _Spans(OTLPSpanExporter):
    def __init__(self, delivery: TelemetryDelivery, **how: Any) -> None:
        super().__init__(**how)
        self._delivery = delivery

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        self._delivery.note(arrived=result is SpanExportResult.SUCCESS, spans=len(spans))
        return result


class _Metrics(OTLPMetricExporter):
    def __init__(self, delivery: TelemetryDelivery, **how: Any) -> None:
        super().__init__(**how)
        self._delivery = delivery

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **kwargs)
        self._delivery.note(arrived=result is MetricExportResult.SUCCESS)
        return result
