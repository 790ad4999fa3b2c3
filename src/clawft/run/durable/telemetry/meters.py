"""Metrics: what this worker did, and what the database says of all runs and workers."""

from collections.abc import Callable, Iterable, Mapping

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider

from clawft.errors import ClawftError

__all__ = ["Meters"]

_SCOPE = "clawft.runs"
_STATUSES = ("queued", "running", "waiting")
_SECONDS = (0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 900)
_TOKENS = tuple(4.0**power for power in range(14))  # as the conventions for generative AI have it
Labels = Mapping[str, str]


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
