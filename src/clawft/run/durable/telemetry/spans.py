"""Spans: one trace for a run, whoever did it and however often. All ids follow from the run's."""

import hashlib
import threading
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
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

__all__ = ["Ids", "Span", "Spans", "read_ns", "span_id"]

_SCOPE = "clawft.runs"
_MAX_NAME = 128
Value = str | bool | int | float


class Span(Struct, frozen=True, kw_only=True):
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


class Ids(IdGenerator):
    """Gives the ids that were put in."""

    trace = span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class Spans:
    """Sends spans. May be used by several threads."""

    def __init__(self, provider: TracerProvider, ids: Ids) -> None:
        self._sampler = provider.sampler
        self._tracer = provider.get_tracer(_SCOPE)
        self._ids = ids
        self._lock = threading.Lock()

    def send(self, span: Span) -> None:
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
        """A span that somebody else may send. A sampler takes all spans of a trace, on every worker, or none."""
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
