"""The feed of a fleet: its options, its runs started in order, its results written, its progress shown."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click
import msgspec
from msgspec import Struct

from clawft.app.jobs import open_app_runs
from clawft.cli.options import check_queue, open_here
from clawft.cli.output import escape_unsafe, one_line, say, say_lines, show_error
from clawft.errors import ClawftError
from clawft.files import lock_file

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.jobs.fleet_feed import FeedState, FleetFeed
    from clawft.jobs.fleets import Fleet
    from clawft.jobs.runs import Runs


F = TypeVar("F", bound=Callable[..., Any])
AHEAD = 500


class FeedOptions(Struct, frozen=True):
    """Options for feeding a fleet and writing its results."""

    output: str = ""
    ahead: int = AHEAD
    queue: str = ""
    resume: str = ""
    retry: str = ""
    workers: int = 0

    @property
    def goes_on(self) -> bool:
        """Return whether it is about a fleet that was started before."""
        return bool(self.resume or self.retry)

    def check_alone(self, others: bool) -> None:
        """Raises: click.UsageError if something is asked for that such a fleet cannot change."""
        if others or self.queue or (self.resume and self.retry):
            raise click.UsageError("A fleet goes on as it was started: give only --output, --ahead and --workers")


def feed_options(function: F) -> F:
    text = "Write the results there; without it they are printed. A new fleet overwrites the file."
    options = [
        click.option("--output", "-o", metavar="FILE", default="", type=click.Path(dir_okay=False), help=text),
        click.option("--queue", metavar="NAME", default="", callback=check_queue, help="Which workers do it."),
        click.option(
            "--ahead",
            type=click.IntRange(1, 100_000),
            default=AHEAD,
            show_default=True,
            metavar="N",
            help="Never more runs than that are queued or under way.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 256),
            metavar="N",
            callback=lambda _context, _option, number: number or 0,
            help="See that so many workers do it here; they end when nothing is left.",
        ),
        click.option("--resume", metavar="FLEET", default="", help="Go on with a fleet that was left."),
        click.option("--retry", metavar="FLEET", default="", help="Go on with one, and try again what failed."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


class _Written(msgspec.Struct):
    """The fields of a result line that decide whether it stays in the output."""

    line: int
    run: str
    status: str
    verdict: str = ""


_WRITTEN = msgspec.json.Decoder(_Written)


class FleetOutput:
    """An open place for results; '' is stdout. `after`: the last line whose result is there already.

    Every method raises a ClawftError where it cannot be written, or BrokenPipeError if nobody reads any more.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path)) if path else ""
        self.after = 0
        self.verdicts: dict[str, int] = {}
        self._file: BinaryIO = _open(self.path) if path else sys.stdout.buffer

    def __enter__(self) -> "FleetOutput":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        try:
            if kind is not BrokenPipeError:
                self.flush()
        finally:
            if self.path:
                self._file.close()

    def clear(self) -> None:
        """Begin anew."""
        if self.path:
            self._file.truncate(0)

    def go_on(self, fleet: str) -> None:
        """Keep the results of a fleet that stand, and write after them."""
        if self.path:
            self._file.truncate(self._find_end(fleet))
            self._file.seek(0, os.SEEK_END)

    def write(self, result: dict[str, Any]) -> None:
        self._file.write(escape_unsafe(msgspec.json.encode(result).decode()).encode() + b"\n")
        self._count(result.get("verdict", ""))

    def flush(self) -> None:
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritten(self.path, error.strerror or str(error)) from error

    def _find_end(self, fleet: str) -> int:
        """Return the offset after the results that stay: the next line is missing, cut off, or of a run that is not
        done."""
        end = 0
        for text in self._file:
            try:
                written = _WRITTEN.decode(text)
            except (msgspec.DecodeError, ValueError):
                written = None
            if written is not None and not (written.run or fleet).startswith(fleet):
                hint = "Name another file with --output"
                raise ClawftError("fleet-output", "The file holds results of another fleet", path=self.path, hint=hint)
            if written is None or written.status != "done" or not text.endswith(b"\n"):
                break
            end += len(text)
            self.after = written.line
            self._count(written.verdict)
        return end

    def _count(self, verdict: str) -> None:
        if verdict:
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1


def _open(path: str) -> BinaryIO:
    if os.path.islink(path) and not path.startswith("/dev/"):  # an untrusted process may have put the link there
        raise _unwritten(path, "it is a link")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        file: BinaryIO = os.fdopen(descriptor, "r+b")
        is_ours = lock_file(file.fileno())
    except OSError as error:
        raise _unwritten(path, error.strerror or str(error)) from error
    if not is_ours:
        file.close()
        message = "Another process writes the results of a fleet there"
        raise ClawftError("fleet-output", message, path=path, hint="Wait for it, or name another file")
    return file


def _unwritten(path: str, reason: str) -> ClawftError:
    return ClawftError("not-written", f"The file was not written: {reason}", path=path)


_TERMINAL_S = 0.2
_PLAIN_S = (5, 15, 30, 60)  # between two lines where nobody watches; the last one stays
_SPAN_S = 60.0  # that the rate is taken over


class FleetProgress:
    """Progress of a fleet: how many runs are in each state, how fast they end, and how long it will take."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._seen: deque[tuple[float, int]] = deque()
        self._reports = 0
        self._due = time.monotonic() + (_TERMINAL_S if self._live else _PLAIN_S[0])
        self._shown = False

    def show(self, state: "FeedState") -> None:
        now = time.monotonic()
        finished = state.done + state.failed
        if not self._seen or now - self._seen[-1][0] >= _TERMINAL_S:
            self._seen.append((now, finished))
        while now - self._seen[0][0] > _SPAN_S:
            self._seen.popleft()
        if now < self._due:
            return
        text = render_progress(state, self._rate(now, finished))
        if self._live:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
            self._due, self._shown = now + _TERMINAL_S, True
        else:
            click.echo(text, err=True)
            self._reports = min(self._reports + 1, len(_PLAIN_S) - 1)
            self._due = now + _PLAIN_S[self._reports]

    def clear(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = False

    def _rate(self, now: float, finished: int) -> float:
        since, before = self._seen[0]
        return (finished - before) / (now - since) if now - since > _TERMINAL_S else 0.0


def render_progress(state: "FeedState", rate: float) -> str:
    """`1,203 of 10,000 done, 3 failed, 2 waiting, 40 under way; 41.3 a second, 3 min 33 s left`."""
    parts = [f"{state.done:,} of {state.total:,} done"]
    parts += [f"{number:,} {what}" for number, what in _others(state) if number]
    left = state.total - state.done - state.failed - state.waiting
    if rate <= 0:
        return ", ".join(parts)
    return f"{', '.join(parts)}; {rate:.3g} a second, {render_duration(left / rate)} left"


def _others(state: "FeedState") -> tuple[tuple[int, str], ...]:
    return (
        (state.failed, "failed"),
        (state.waiting, "waiting"),
        (state.under_way, "run under way" if state.under_way == 1 else "runs under way"),
    )


def render_duration(seconds: float) -> str:
    """`42 s`, `3 min 33 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    for size, name, small, lesser in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // small} {lesser}"
    return f"{whole} s"


def create_fleet(app: "App", runs: "Runs", fleet: "Fleet") -> "Fleet":
    """Write a fleet down. Raises: ClawftError."""
    from clawft.jobs.fleets import FleetStore

    store = FleetStore(runs.database)
    before = datetime.now(UTC) - timedelta(days=runs.settings.keep_days)
    for old in store.remove_old(before.isoformat(timespec="milliseconds")):
        with suppress(OSError):
            os.unlink(lines_path(app, old.id))
    store.add(fleet)
    say(one_line(f"fleet {fleet.id}: {fleet.spec.title}, {fleet.total:,} lines"))
    return fleet


def lines_path(app: "App", fleet: str) -> str:
    """Return the path of the stored input lines of a fleet whose lines come from no single file."""
    return os.path.join(app.workspace.user_dir, "runs", "fleets", f"{os.path.basename(fleet)}.jsonl")


MAX_FAILURES = 20
_WORKER_S = 5.0  # between two checks that a worker runs
_POLL_S, _MAX_POLL_S = 0.2, 1.0
_SHARE = 5
_INTERRUPTED = 130


def resume_fleet(options: FeedOptions) -> int:
    """Go on with a fleet that was left. Raises: ClawftError."""
    from clawft.jobs.fleet_feed import check_unchanged
    from clawft.jobs.fleets import FleetStore

    runs = open_app_runs(open_here())
    try:
        fleet = FleetStore(runs.database).get(options.retry or options.resume)
        check_unchanged(fleet.spec)
        with FleetOutput(options.output or fleet.spec.output) as output:
            output.go_on(fleet.id)
            return follow_fleet(runs, fleet, output, options)
    finally:
        runs.close()


def follow_fleet(runs: "Runs", fleet: "Fleet", output: FleetOutput, options: FeedOptions) -> int:
    """Feed a fleet until nothing more can be done; the exit code. Raises: ClawftError."""
    from clawft.jobs.fleet_feed import FleetFeed

    writer = _ResultWriter(output)
    progress = FleetProgress()
    feed = FleetFeed(runs, fleet, writer.tell, ahead=options.ahead, after=output.after, retry=bool(options.retry))
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
    return writer.conclude(fleet)


def _work(runs: "Runs", feed: "FleetFeed", output: FleetOutput, progress: FleetProgress, workers: int) -> None:
    from clawft.jobs.database import is_transient

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
            if not is_transient(error):
                raise
            progress.clear()
            show_error(error)  # it may pass, and nothing is lost by waiting
            time.sleep(_WORKER_S)
        output.flush()
        progress.show(feed.state)
        if not feed.state.is_over:  # the longer a look takes, the fewer there are
            time.sleep(min(_MAX_POLL_S, max(_POLL_S, _SHARE * (time.monotonic() - begun))))


def _see_to_workers(runs: "Runs", queue: str, wanted: int, *, tell: bool) -> None:
    """Start as many workers as requested; without a number, make sure that at least one runs."""
    started = runs.add_workers(wanted, queue) if wanted else int(runs.ensure_worker(queue))
    if started and tell:
        more = "" if wanted else "; for more at once: --workers, or weft worker elsewhere"
        say(f"{started} worker{'s' * (started != 1)} started{more}")


def _say_left(feed: "FleetFeed") -> None:
    state = feed.state
    say(f"left: {state.under_way} runs are queued or under way, and go on; lines after them are not begun")
    say(f"go on: weft fleet {feed.fleet.kind} --resume {feed.fleet.id}")


class _ResultWriter:
    """Writes results, and keeps what is said at the end."""

    def __init__(self, output: FleetOutput) -> None:
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
        say_lines(self._troubles)
        open_lines = sum(number for status, number in self._counts.items() if status != "done")
        if open_lines > len(self._troubles):
            say(f"… and {open_lines - len(self._troubles)} more. Run: weft fleet show {fleet.id}")
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(self._output.verdicts.items()))
        waiting = self._counts.get("waiting", 0)
        failed = open_lines - waiting
        parts = [f"{fleet.total - open_lines:,} of {fleet.total:,} done{f' ({verdicts})' if verdicts else ''}"]
        parts += [f"{number:,} {what}" for number, what in ((failed, "failed"), (waiting, "waiting")) if number]
        say(f"{fleet.id}: {', '.join(parts)}")
        print_next_steps(fleet, failed=self._retryable, waiting=waiting)
        if self._output.path:
            say(f"Written to {one_line(os.path.relpath(self._output.path))}")
        return 1 if open_lines else 0


def print_next_steps(fleet: "Fleet", *, failed: int, waiting: int) -> None:
    """Print the commands for runs that failed or wait for an answer."""
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
