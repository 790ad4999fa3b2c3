"""A collector of OpenTelemetry on loopback: real sockets, OTLP over HTTP, and what arrived as plain values."""

import gzip
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Arrived", "Collector"]

T = TypeVar("T")


@dataclass(frozen=True)
class Arrived:
    """A span as it arrived."""

    trace: str
    id: str
    parent: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    resource: dict[str, Any]
    is_error: bool
    links: tuple[str, ...]


class Collector:
    """The server; use it as a context manager. With `stalls` it takes requests and never answers."""

    def __init__(self, *, stalls: bool = False) -> None:
        self._stalls = stalls
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._bodies: list[tuple[str, bytes]] = []

    def __enter__(self) -> "Collector":
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector._take(self.path, body)
                if collector._stalls:
                    collector._over.wait(60)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _take(self, path: str, body: bytes) -> None:
        with self._lock:
            self._bodies.append((path, body))

    def bytes(self) -> bytes:
        """All that arrived, as it came."""
        with self._lock:
            return b"\n".join(body for _, body in self._bodies)

    def spans(self) -> list[Arrived]:
        found: list[Arrived] = []
        for message in self._read("/v1/traces", ExportTraceServiceRequest):
            for group in message.resource_spans:
                resource = _attributes(group.resource.attributes)
                found += [_span(one, resource) for scope in group.scope_spans for one in scope.spans]
        return found

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], float]]]:
        """The last points of each metric, over all that reported: labels and value; of a histogram, its sum."""
        points: dict[tuple[str, str, str], tuple[dict[str, Any], float]] = {}
        for message in self._read("/v1/metrics", ExportMetricsServiceRequest):
            for group in message.resource_metrics:
                who = str(_attributes(group.resource.attributes).get("service.instance.id"))
                for metric in (one for scope in group.scope_metrics for one in scope.metrics):
                    kind = metric.WhichOneof("data")
                    for point in getattr(metric, kind).data_points:
                        labels = _attributes(point.attributes)
                        value = point.sum if kind == "histogram" else point.as_double or point.as_int
                        points[who, metric.name, repr(sorted(labels.items()))] = (labels, float(value))
        found: dict[str, list[tuple[dict[str, Any], float]]] = {}
        for (_, name, _), point in points.items():
            found.setdefault(name, []).append(point)
        return found

    def wait_for(self, find: Callable[["Collector"], T], wait_s: float = 30) -> T:
        """What is found, as soon as it has arrived."""
        deadline = time.monotonic() + wait_s
        while not (found := find(self)):
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not arrive; these did: {[one.name for one in self.spans()]}")
            time.sleep(0.02)
        return found

    def _read(self, path: str, kind: Any) -> list[Any]:
        with self._lock:
            bodies = [body for to, body in self._bodies if to == path]
        return [kind.FromString(body) for body in bodies]


def _span(span: Any, resource: dict[str, Any]) -> Arrived:
    return Arrived(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _attributes(span.attributes),
        resource,
        span.status.code == 2,
        tuple(link.trace_id.hex() for link in span.links),
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
