"""A scan from the command line: progress, the reports in the format asked for, and the exit code."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import click

from clawft.cli.output import json_text, one_line, say, terminal_width
from clawft.cli.scan._options import ScanOptions
from clawft.errors import ClawftError
from clawft.scan.batch import scan_many
from clawft.scan.findings import Report
from clawft.scan.kept import scan_kept
from clawft.scan.targets import Target

__all__ = ["exit_code", "run_scan"]

SILENT_S = 1.0  # what is done sooner needs no progress
FEW_SHOWN = 5  # so many clean skills are told of in full where they have something worth a look
_EVERY_S = 0.1


def run_scan(
    targets: Sequence[Target],
    options: ScanOptions,
    cache_dir: str | None = None,
    judge: Callable[[Report], Report] | None = None,
) -> int:
    """Scan and tell; the exit code. What was scanned before is taken from `cache_dir`. Raises: ClawftError.

    `judge` has the last word on each report.
    """
    distinct = list(dict.fromkeys(targets))
    progress = _Progress(len(distinct))
    reports: list[Report] = []
    if cache_dir is None or options.fresh:
        made = scan_many(distinct, jobs=options.jobs or 0, watch=progress.step)
    else:
        made = scan_kept(distinct, cache_dir, jobs=options.jobs or 0, watch=progress.step)
    if judge is not None:
        made = map(judge, made)
    try:
        if options.format == "table" and options.output is None:
            from clawft.cli.scan._table import TablePrinter

            few = len(distinct) <= FEW_SHOWN
            table = TablePrinter(os.getcwd(), terminal_width(), verbose=options.verbose, few=few)
            for report in made:
                reports.append(report)
                _print(table.block(report), progress)
            _print(table.rest(), progress)
        else:
            reports.extend(made)
    finally:
        progress.clear()
    if options.format == "table":
        from clawft.cli.scan._table import summary_line

        if options.output is not None:
            _write(options.output, click.unstyle("\n".join(_table_lines(reports, options.verbose))) + "\n")
        say(summary_line(reports))
    elif options.output is not None:
        _write(options.output, _document(reports, options.format))
    else:
        click.echo(_document(reports, options.format), nl=False)
    return exit_code(reports, options.fail_on)


def exit_code(reports: Sequence[Report], fail_on: str) -> int:
    """3 for a verdict that is as bad as `fail_on`, else 1 where something could not be scanned, else 0."""
    refused = {"malicious": ("malicious",), "suspicious": ("malicious", "suspicious"), "never": ()}[fail_on]
    if any(report.verdict in refused and not _only_failed(report) for report in reports):
        return 3
    return 1 if any(report.failed for report in reports) else 0


def _only_failed(report: Report) -> bool:
    """Whether a verdict says no more than that the scanner gave up."""
    return report.failed and not any(one.severity in ("critical", "high") for one in report.findings)


def _document(reports: Sequence[Report], kind: str) -> str:
    """The reports as one text for other programs or a browser."""
    from clawft.scan.rules import load_rules

    if kind == "json":
        from clawft.scan.reports.json import report_json

        return json_text({"schema": "clawft.scan.v1", **report_json(reports, load_rules())}) + "\n"
    if kind == "sarif":
        from clawft.scan.reports.sarif import render_sarif

        return json_text(render_sarif(reports, load_rules(), os.getcwd())) + "\n"
    from clawft.scan.reports.excerpt import load_excerpt
    from clawft.scan.reports.html import render_html

    return render_html(reports, load_excerpt)


def _table_lines(reports: Sequence[Report], verbose: bool) -> Iterator[str]:
    from clawft.cli.scan._table import TablePrinter

    table = TablePrinter(os.getcwd(), None, verbose=verbose, few=len(reports) <= FEW_SHOWN)
    for report in reports:
        yield from table.block(report)
    yield from table.rest()


def _print(lines: Sequence[str], progress: "_Progress") -> None:
    if lines:
        progress.clear()
        click.echo("\n".join(lines))


def _write(path: str, text: str) -> None:
    """Write a file, and none that a link leads to: a stranger may have put it there. Raises: ClawftError."""
    place = os.path.expanduser(path)
    if os.path.islink(place) and not place.startswith("/dev/"):
        raise ClawftError("not-written", "The file was not written: it is a link", path=path, hint="Name another file")
    try:
        with open(place, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise ClawftError("not-written", f"The file was not written: {error.strerror}", path=path) from error
    say(f"Written to {one_line(path)}")


class _Progress:
    """A line on a terminal that tells how far a long scan is; elsewhere nothing."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.shown = False
        self.due = time.monotonic() + SILENT_S
        self.wanted = (
            total > 1 and sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        )

    def step(self, report: Report) -> None:
        self.done += 1
        if self.wanted and time.monotonic() >= self.due:
            self.due = time.monotonic() + _EVERY_S
            name = one_line(report.name)[:30]
            click.echo(f"\r\x1b[K{self.done} of {self.total} scanned: {name}", nl=False, err=True)
            self.shown = True

    def clear(self) -> None:
        if self.shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self.shown = False
