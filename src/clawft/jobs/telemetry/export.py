"""Sending: a bounded queue of spans and a reading of all metrics every so often, in threads of their own.

A collector that is slow or away delays nobody. What cannot be sent is dropped and counted.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import requests
from msgspec import Struct
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from clawft.errors import ClawftError
from clawft.run.durable.lease import this_host
from clawft.run.durable.telemetry.spans import Ids

__all__ = ["Delivery", "Pipes", "open_pipes"]

_QUEUE = 4096  # spans that wait to be sent
_DELAY_MS = 1_000  # until they are sent: what a worker that is killed has not sent is lost
_CLOSE_S = 2.0  # for what is left when the worker ends


class Delivery:
    """Whether what is sent arrives. Says once when it does not, and at the end how much was lost."""

    def __init__(self, where: str, warn: Callable[[ClawftError], None]) -> None:
        self._where = where
        self._warn = warn
        self._lock = threading.Lock()
        self._waiting = 0
        self._lost = 0
        self._is_failing = False

    def admit(self) -> bool:
        """Whether one more span may wait; one that may not is lost."""
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


class Pipes(Struct, frozen=True):
    """Where spans and metrics are put."""

    ids: Ids
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


def open_pipes(url: str, worker: str, delivery: Delivery, environ: Mapping[str, str], *, is_local: bool) -> Pipes:
    """What sends to a collector. What the `OTEL_` variables say of headers, times and certificates is followed."""
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
    ids = Ids()
    tracing = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    asked = environ.get("OTEL_BSP_SCHEDULE_DELAY", "")
    delay_ms = int(asked) if asked.isdecimal() and int(asked) else _DELAY_MS
    spans = _Spans(delivery, endpoint=f"{url}/v1/traces", session=_open_session(is_local=is_local))
    tracing.add_span_processor(_Bounded(delivery, spans, delay_ms))
    metrics = _Metrics(delivery, endpoint=f"{url}/v1/metrics", session=_open_session(is_local=is_local))
    reader = PeriodicExportingMetricReader(metrics)
    return Pipes(ids, tracing, MeterProvider([reader], resource=resource, shutdown_on_exit=False))


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
    def __init__(self, delivery: Delivery, exporter: SpanExporter, delay_ms: float) -> None:
        super().__init__(exporter, max_queue_size=_QUEUE, schedule_delay_millis=delay_ms)
        self._delivery = delivery

    def on_end(self, span: ReadableSpan) -> None:
        if self._delivery.admit():
            super().on_end(span)


class _Spans(OTLPSpanExporter):
    def __init__(self, delivery: Delivery, **how: Any) -> None:
        super().__init__(**how)
        self._delivery = delivery

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        self._delivery.note(arrived=result is SpanExportResult.SUCCESS, spans=len(spans))
        return result


class _Metrics(OTLPMetricExporter):
    def __init__(self, delivery: Delivery, **how: Any) -> None:
        super().__init__(**how)
        self._delivery = delivery

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **kwargs)
        self._delivery.note(arrived=result is MetricExportResult.SUCCESS)
        return result
