"""A fleet from the command line: fed, its results written as they come, and what failed said at the end."""

import os
import time
from typing import TYPE_CHECKING, Any

from clawft.cli.fleet._options import FeedOptions
from clawft.cli.fleet._output import Output
from clawft.cli.fleet._progress import FleetProgress
from clawft.cli.output import one_line, say, show_error
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.run.durable.feed import Feed
    from clawft.run.durable.fleets import Fleet
    from clawft.run.durable.runs import Runs

__all__ = ["follow", "go_on", "say_rest"]

MAX_FAILURES = 20
_WORKER_S = 5.0  # between two looks whether somebody works
_POLL_S, _MAX_POLL_S = 0.2, 1.0
_SHARE = 5
_INTERRUPTED = 130


def go_on(options: FeedOptions) -> int:
    """Go on with a fleet that was left. Raises: ClawftError."""
    from clawft.cli.options import open_here
    from clawft.run.durable.fleets import FleetStore
    from clawft.run.durable.inputs import check_unchanged
    from clawft.working import open_app_runs

    runs = open_app_runs(open_here())
    try:
        fleet = FleetStore(runs.database).get(options.retry or options.resume)
        check_unchanged(fleet.spec)
        with Output(options.output or fleet.spec.output) as output:
            output.go_on(fleet.id)
            return follow(runs, fleet, output, options)
    finally:
        runs.close()


def follow(runs: "Runs", fleet: "Fleet", output: Output, options: FeedOptions) -> int:
    """Feed a fleet until nothing more can be done; the exit code. Raises: ClawftError."""
    from clawft.run.durable.feed import Feed

    telling = _Telling(output)
    progress = FleetProgress()
    feed = Feed(runs, fleet, telling.tell, ahead=options.ahead, after=output.after, retry=bool(options.retry))
    try:
        _work(runs, feed, output, progress, options.workers)
    except (KeyboardInterrupt, BrokenPipeError) as error:
        progress.clear()
        _say_left(feed)
        if isinstance(error, BrokenPipeError):
            raise
        return _INTERRUPTED
    finally:
        progress.clear()
    return telling.conclude(fleet)


def _work(runs: "Runs", feed: "Feed", output: Output, progress: FleetProgress, workers: int) -> None:
    from clawft.run.durable.database import is_passing

    due, is_first = 0.0, True
    while not feed.state.is_over:
        begun = time.monotonic()
        try:
            feed.step()
            if feed.state.under_way and begun >= due:
                due = begun + _WORKER_S
                _see_to_workers(runs, feed.fleet.spec.queue, workers if is_first else 0, tell=is_first)
                is_first = False
        except ClawftError as error:
            if not is_passing(error):
                raise
            progress.clear()
            show_error(error)  # it may pass, and nothing is lost by waiting
            time.sleep(_WORKER_S)
        output.flush()
        progress.show(feed.state)
        if not feed.state.is_over:  # the longer a look takes, the fewer there are
            time.sleep(min(_MAX_POLL_S, max(_POLL_S, _SHARE * (time.monotonic() - begun))))


def _see_to_workers(runs: "Runs", queue: str, wanted: int, *, tell: bool) -> None:
    """Have somebody do it: as many as were asked for, and never nobody."""
    started = runs.add_workers(wanted, queue) if wanted else int(runs.ensure_worker(queue))
    if started and tell:
        more = "" if wanted else "; for more at once: --workers, or weft worker elsewhere"
        say(f"{started} worker{'s' * (started != 1)} started{more}")


def _say_left(feed: "Feed") -> None:
    state = feed.state
    say(f"left: {state.under_way} runs are queued or under way, and go on; lines after them are not begun")
    say(f"go on: weft fleet {feed.fleet.kind} --resume {feed.fleet.id}")


class _Telling:
    """Writes results, and keeps what is said at the end."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._troubles: list[str] = []
        self._counts: dict[str, int] = {}
        self._retryable = 0

    def tell(self, result: dict[str, Any]) -> None:
        self._output.write(result)
        status = result["status"]
        self._counts[status] = self._counts.get(status, 0) + 1
        self._retryable += status not in ("done", "waiting") and bool(result["run"])
        if status != "done" and len(self._troubles) < MAX_FAILURES:
            self._troubles.append(one_line(f"line {result['line']}: {status}: {_reason(result)}")[:400])

    def conclude(self, fleet: "Fleet") -> int:
        """Say what came of it; the exit code."""
        for line in self._troubles:
            say(line)
        open_lines = sum(number for status, number in self._counts.items() if status != "done")
        if open_lines > len(self._troubles):
            say(f"… and {open_lines - len(self._troubles)} more. Run: weft fleet show {fleet.id}")
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(self._output.verdicts.items()))
        waiting = self._counts.get("waiting", 0)
        failed = open_lines - waiting
        parts = [f"{fleet.total - open_lines:,} of {fleet.total:,} done{f' ({verdicts})' if verdicts else ''}"]
        parts += [f"{number:,} {what}" for number, what in ((failed, "failed"), (waiting, "waiting")) if number]
        say(f"{fleet.id}: {', '.join(parts)}")
        say_rest(fleet, failed=self._retryable, waiting=waiting)
        if self._output.path:
            say(f"Written to {one_line(os.path.relpath(self._output.path))}")
        return 1 if open_lines else 0


def say_rest(fleet: "Fleet", *, failed: int, waiting: int) -> None:
    """What to do about what is not done."""
    if failed:
        say(f"try them again: weft fleet {fleet.kind} --retry {fleet.id}")
    if waiting:
        say(f"answer them (weft runs list), then: weft fleet {fleet.kind} --resume {fleet.id}")


def _reason(result: dict[str, Any]) -> str:
    if result["status"] == "waiting":
        return f"Run: weft runs show {result['run']}"
    if "coverage" in result:
        reasons = [gap["reason"] for gap in result["coverage"]["gaps"] if gap["failed"]]
        return f"{result['path']}: {reasons[0]}"
    error = result["error"] or {}
    return f"{error.get('message', '')} [{error['code']}]" if error else f"Run: weft runs show {result['run']}"
