"""Metrics for Prometheus, and the daemon's log lines about reloads, executions and questions."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from clawft import __version__
from clawft.server.daemon import Daemon
from clawft.server.http.exchange import Log
from clawft.server.operations.executions import view_health
from clawft.server.protocol.base import DaemonAnswer
from clawft.server.protocol.executions import ExecutionFinished, ExecutionStarted, QuestionAsked, QuestionClosed
from clawft.server.protocol.subscriptions import SkillChange, SkillsChanged, SubsystemHealth

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0)


class Metrics:
    """One for each server: two in a process do not count together."""

    def __init__(self, daemon: Daemon) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "clawft_requests", "Requests by what was asked for.", ["operation", "status"], registry=registry
        )
        self._seconds = Histogram(
            "clawft_request_seconds", "How long an answer took.", ["operation"], buckets=_SECONDS, registry=registry
        )
        self._sockets = Gauge(
            "clawft_connections", "WebSockets and event streams that are open.", ["kind"], registry=registry
        )
        self._dropped = Counter(
            "clawft_slow_consumers_dropped", "Clients that did not read.", ["kind"], registry=registry
        )
        self._reloads = Counter("clawft_reloads", "How often the skills were read anew.", ["result"], registry=registry)
        for kind in ("websocket", "events"):
            self._sockets.labels(kind)
            self._dropped.labels(kind)
        for result in ("ok", "failed"):
            self._reloads.labels(result)
        self._registry.register(_State(daemon))
        daemon.registry.live.subscribe(lambda change: self._reloads.labels("failed" if change.failed else "ok").inc())

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


def is_well(part: SubsystemHealth) -> bool:
    """Return whether a part works; it may have something to say all the same."""
    return part.problem is None or part.problem.severity != "error"


class _State(Collector):
    """The daemon as it is."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def collect(self) -> Iterable[Metric]:
        daemon = self._daemon
        yield _gauge("clawft_info", "Which weft this is.", "version", {__version__: 1})
        entries = daemon.executions.entries
        waiting = sum(entry.waiting for entry in entries)
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
        skills = Tally(str(skill.state) for skill in live.current.app.skills)
        yield _gauge("clawft_skills", "Skills by their state.", "state", skills)
        health = {subsystem.name: int(is_well(view_health(subsystem))) for subsystem in daemon.subsystems}
        yield _gauge("clawft_healthy", "1 where a part works.", "subsystem", health)


def _gauge(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


_NAMED = 5  # skills that a line for people names


class DaemonLog:
    """A log of everything that is published to subscribers, even when there are none."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def note(self, message: DaemonAnswer) -> None:
        match message:
            case SkillsChanged():
                self._note_reload(message)
            case ExecutionStarted(execution=entry):
                fields = {"execution": entry.execution, "skill": entry.skill, "session": entry.session}
                what = f"skill {entry.skill}" if entry.skill else "message"
                words = f"{entry.caller} started {what} in {entry.session}"
                self._log(words, {"event": "execution-started", **fields, "owner": entry.caller})
            case ExecutionFinished():
                self._note_end(message)
            case QuestionAsked(question=asked):
                fields = {"question": asked.question, "execution": asked.execution, "session": asked.session}
                words = f"{asked.tool} asks in {asked.session}: question {asked.question}"
                self._log(words, {"event": "question-asked", **fields, "tool": asked.tool, "owner": asked.caller})
            case QuestionClosed(question=question, answer=answer, by=by):
                words = f"question {question}: {answer}{f', by {by}' if by else ''}"
                self._log(words, {"event": "question-closed", "question": question, "answer": answer, "by": by})

    def _note_reload(self, change: SkillsChanged) -> None:
        about: dict[str, object] = {"generation": change.generation, "ms": round(change.took_ms)}
        if change.failed is not None:
            why = change.failed
            words = f"not reloaded, what was read before still counts: {why.message} ({why.path})"
            self._log(words, {"event": "reload-failed", **about, "code": why.code, "path": why.path})
            return
        kinds = {"added": change.added, "removed": change.removed, "changed": change.changed}
        words = "; ".join(f"{kind} {_name(which)}" for kind, which in kinds.items() if which)
        words = "; ".join(filter(None, (words, f"also {', '.join(change.also)}" if change.also else "")))
        about |= {kind: [skill.name for skill in which] for kind, which in kinds.items()}
        text = f"reloaded, generation {change.generation}: {words or 'all can be read again'}"
        self._log(text, {"event": "reloaded", **about, "also": list(change.also)})

    def _note_end(self, message: ExecutionFinished) -> None:
        what = f"skill {message.skill}" if message.skill else "message"
        more = f", {message.error}" if message.error else ""
        more += f", {message.refused} refused" if message.refused else ""
        words = f"{message.caller} {what} in {message.session}: {message.status}{more}, {message.ms} ms"
        about = {"execution": message.execution, "skill": message.skill, "session": message.session}
        about |= {"owner": message.caller, "status": message.status, "error": message.error}
        self._log(words, {"event": "execution-finished", **about, "refused": message.refused, "ms": message.ms})


def _name(changes: tuple[SkillChange, ...]) -> str:
    names = ", ".join(change.name for change in changes[:_NAMED])
    return names + (f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else "")
