"""What is counted of a daemon, for Prometheus. What it holds just now is looked up when somebody asks."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from clawft import __version__
from clawft.protocol.changes import SkillsChanged
from clawft.protocol.watching import SubsystemHealth
from clawft.serve.daemon import Daemon
from clawft.serve.operations.watching import describe_health

__all__ = ["CONTENT_TYPE", "Metrics", "is_well"]

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0)


class Metrics:
    """One for each server: two in a process do not count together."""

    def __init__(self, daemon: Daemon) -> None:
        self._registry = kept = CollectorRegistry()
        self._requests = Counter(
            "clawft_requests", "Requests by what was asked for.", ["operation", "status"], registry=kept
        )
        self._seconds = Histogram(
            "clawft_request_seconds", "How long an answer took.", ["operation"], buckets=_SECONDS, registry=kept
        )
        self._sockets = Gauge(
            "clawft_connections", "WebSockets and event streams that are open.", ["kind"], registry=kept
        )
        self._dropped = Counter("clawft_slow_consumers_dropped", "Clients that did not read.", ["kind"], registry=kept)
        self._reloads = Counter("clawft_reloads", "How often the skills were read anew.", ["result"], registry=kept)
        for kind in ("websocket", "events"):
            self._sockets.labels(kind)
            self._dropped.labels(kind)
        for result in ("ok", "failed"):
            self._reloads.labels(result)
        self._registry.register(_State(daemon))
        daemon.registry.live.subscribe(self._reloaded)

    def request(self, operation: str, status: int | str, seconds: float) -> None:
        """Count one that was answered; what is no operation has no name."""
        name = operation or "other"
        self._requests.labels(name, str(status)).inc()
        self._seconds.labels(name).observe(seconds)

    @contextmanager
    def connected(self, kind: str) -> Iterator[None]:
        """Count a connection while it is there."""
        self._sockets.labels(kind).inc()
        try:
            yield
        finally:
            self._sockets.labels(kind).dec()

    def dropped(self, kind: str) -> None:
        """Count one that was let go because it did not read."""
        self._dropped.labels(kind).inc()

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def _reloaded(self, change: SkillsChanged) -> None:
        self._reloads.labels("failed" if change.failed else "ok").inc()


def is_well(part: SubsystemHealth) -> bool:
    """Whether a part works; it may have something to say all the same."""
    return part.problem is None or part.problem.severity != "error"


class _State(Collector):
    """The daemon as it is."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def collect(self) -> Iterable[Metric]:
        daemon = self._daemon
        yield _gauge("clawft_info", "Which weft this is.", "version", {__version__: 1})
        entries = daemon.executions.entries
        waiting = sum(one.waiting for one in entries)
        states = {"running": len(entries) - waiting, "waiting": waiting}
        yield _gauge("clawft_executions", "Work that goes on, or waits for its turn.", "state", states)
        ended = CounterMetricFamily("clawft_executions_ended", "Work that ended, by how.", labels=["status"])
        for status, count in daemon.executions.ended.items():
            ended.add_metric([status], count)
        yield ended
        yield CounterMetricFamily("clawft_events_pushed", "Events told to subscribers.", value=daemon.topics.pushed)
        yield GaugeMetricFamily(
            "clawft_questions_waiting", "Questions of tools without an answer.", value=len(daemon.questions.waiting)
        )
        live = daemon.registry.live
        yield GaugeMetricFamily("clawft_generation", "Grows when something changed on disk.", value=live.current.number)
        skills = Tally(str(one.state) for one in live.current.app.skills)
        yield _gauge("clawft_skills", "Skills by their state.", "state", skills)
        health = {one.name: int(is_well(describe_health(one))) for one in daemon.subsystems}
        yield _gauge("clawft_healthy", "1 where a part works.", "subsystem", health)


def _gauge(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family
