"""`weft scan PATH...`: scan skills, folders, files and archives, and print the reports."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import click
from msgspec import Struct

from clawft.cli.options import open_here
from clawft.cli.output import clean, fit, json_text, one_line, say, terminal_width, width_of
from clawft.errors import ClawftError, NotFound, find_close
from clawft.scanner.batch import ScannedPath, find_targets, scan_cached, scan_many
from clawft.scanner.findings import Finding, Report
from clawft.scanner.reports.json import count_verdicts, report_json
from clawft.scanner.reports.text import Excerpt, load_excerpt, render_evidence, render_power, reveal

F = TypeVar("F", bound=Callable[..., Any])


class ScanOptions(Struct, frozen=True):
    """Options for scanning and for the report."""

    format: Literal["table", "json", "sarif", "html"] = "table"
    jobs: int | None = None
    fail_on: Literal["malicious", "suspicious", "never"] = "malicious"
    output: str | None = None
    verbose: bool = False
    fresh: bool = False


def scan_options(function: F) -> F:
    options = [
        click.option(
            "--format",
            type=click.Choice(["table", "json", "sarif", "html"]),
            default="table",
            show_default=True,
            help="How to print: to read, for programs, for code hosts and editors, as one page for a browser.",
        ),
        click.option(
            "--jobs",
            "-j",
            type=click.IntRange(min=1),
            metavar="N",
            help="How many processes scan; by default what suits the machine, and one for a few skills.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(["malicious", "suspicious", "never"]),
            default="malicious",
            show_default=True,
            help="Exit 3 from this verdict on.",
        ),
        click.option("--output", "-o", metavar="FILE", help="Write there instead of printing; a file is overwritten."),
        click.option("--fresh", is_flag=True, help="Scan again what was scanned before and has not changed."),
        click.option("--verbose", "-v", is_flag=True, help="Tell all: every finding, and what clean skills would use."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


MAX_FINDINGS = 12
MAX_PER_RULE = 3
MAX_GAPS = 5
MAX_VALUES = 6
MAX_CLEAN = 20
MAX_CODE = 160  # cells of a line of a file where nothing needs to fit
_MARKS = {"malicious": ("✗", "red"), "suspicious": ("!", "yellow"), "clean": ("✓", "green")}
_COLOURS = {"critical": "red", "high": "red", "medium": "yellow", "low": "blue", "info": "blue"}


class TablePrinter:
    """Lines for one report after the other; `columns` is None where nothing needs to fit.

    `few`: there is room for what is worth a look in clean skills.
    """

    def __init__(self, cwd: str, columns: int | None, *, verbose: bool = False, few: bool = True) -> None:
        self.cwd = cwd
        self.columns = columns
        self.verbose = verbose
        self.few = few
        self.clean: list[Report] = []

    def block(self, report: Report) -> list[str]:
        """All there is to say of a skill; nothing for a clean one, which comes last."""
        if report.verdict == "clean" and not self.verbose and not (self.few and _loud(report)):
            self.clean.append(report)
            return []
        lines = [self._head(report), *self._wrap(self._place(report.path), "  ")]
        lines += self._power(report)
        shown, quiet = self._choose(report.findings)
        seen: set[object] = set()
        for finding in shown:
            lines += ["", *self._finding(report, finding, seen)]
        if quiet:
            lines += ["", *self._wrap(f"And {_count_quiet(quiet)}: --verbose shows more", "  ")]
        gaps = self._gaps(report)
        return [*lines, *([""] if gaps and report.findings else []), *gaps, ""]

    def rest(self) -> list[str]:
        """The clean skills: a line each, or their number where they are many."""
        if len(self.clean) > MAX_CLEAN:
            loud = sum(map(_loud, self.clean))
            some = f", {loud} of them with something worth a look" if loud else ""
            return self._wrap(f"{len(self.clean)} clean{some}: --verbose lists them", "")
        return [self._head(report) for report in self.clean]

    def _head(self, report: Report) -> str:
        mark, colour = _MARKS[report.verdict]
        verdict = "not scanned" if _unknown(report) else f"{report.verdict}, {report.confidence:.0%} sure"
        notes = "it is empty" if not report.coverage.files and not report.failed else ""
        if report.verdict == "clean" and report.findings:
            notes = _count_quiet(report.findings)
        text = f"{one_line(reveal(report.name))}: {verdict}{f' ({notes})' if notes else ''}"
        text = fit(text, (self.columns or 10_000) - 2).rstrip()
        return f"{click.style(mark, fg=colour)} {text if report.verdict == 'clean' else click.style(text, bold=True)}"

    def _place(self, path: str) -> str:
        inside = path == self.cwd or path.startswith(self.cwd.rstrip("/") + "/")
        return os.path.relpath(path, self.cwd) if inside else path

    def _power(self, report: Report) -> list[str]:
        parts = [
            f"{label} {_list(values, len(values) if self.verbose else MAX_VALUES)}"
            for label, values in render_power(report.power)
        ]
        return self._wrap(f"Power: {'; '.join(parts)}", "  ") if parts else []

    def _choose(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
        """Split findings into those shown in full and those only counted."""
        if self.verbose:
            return list(findings), []
        shown: list[Finding] = []
        quiet: list[Finding] = []
        for finding in findings:
            many = sum(finding.rule == other.rule for other in shown) >= MAX_PER_RULE
            minor = finding.severity in ("low", "info")
            (quiet if many or minor or len(shown) >= MAX_FINDINGS else shown).append(finding)
        return shown, quiet

    def _finding(self, report: Report, finding: Finding, seen: set[object]) -> list[str]:
        """A finding with its lines and reasons; `told` are the places and rules of which that was said before."""
        head, *more = self._wrap(f"{finding.severity} {finding.rule}, {finding.path}:{finding.line}", "  ")
        severity = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True)
        lines = [head.replace(finding.severity, severity, 1), *more, *self._wrap(finding.message, "    ")]
        place = (finding.path, finding.line, finding.evidence)
        if place not in seen:
            excerpt = load_excerpt(report, finding)
            lines += self._excerpt(excerpt) if excerpt else []
            how = render_evidence(finding, excerpt)
            lines += self._wrap(f"{how}: {finding.evidence}", "    ") if how else []
        if finding.rule not in seen:
            lines += [*self._wrap(f"Why: {finding.why}", "    "), *self._wrap(f"What to do: {finding.fix}", "    ")]
        seen.update((place, finding.rule))
        return lines

    def _excerpt(self, excerpt: Excerpt) -> list[str]:
        digits = len(str(excerpt.lines[-1][0]))
        lines = []
        for number, text in excerpt.lines:
            hit = excerpt.first <= number <= excerpt.last
            left = f"    {'>' if hit else ' '} {str(number).rjust(digits)}  "
            room = max(8, (self.columns or MAX_CODE + len(left)) - len(left))
            line = f"{left}{fit(clean(reveal(text)), room)}".rstrip()
            lines.append(click.style(line, bold=True) if hit else line)
        return lines

    def _gaps(self, report: Report) -> list[str]:
        gaps = list(dict.fromkeys(report.coverage.gaps))
        most = len(gaps) if self.verbose else MAX_GAPS
        lines = [f"Not analysed: {gap.path}: {gap.reason}" if gap.path else gap.reason for gap in gaps[:most]]
        if len(gaps) > most:
            lines.append(f"Not analysed: {len(gaps) - most} more: --verbose lists them")
        return [line for text in lines for line in self._wrap(text, "  ")]

    def _wrap(self, text: str, indent: str) -> list[str]:
        """Wrap untrusted text to lines that fit; a word that does not fit is cut."""
        text = one_line(reveal(text))
        if self.columns is None:
            return [indent + text]
        room = max(8, self.columns - len(indent))
        lines = [""]
        for word in text.split():
            word = word if width_of(word) <= room else fit(word, room)
            if lines[-1] and width_of(lines[-1]) + 1 + width_of(word) > room:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}".strip()
        return [indent + line for line in lines]


def summary_line(reports: Sequence[Report]) -> str:
    """Return a line with how many skills were scanned, and how many have each verdict."""
    if not reports:
        return "No skills found. Run: weft doctor (it lists the folders that are searched)"
    known = [report for report in reports if not _unknown(report)]
    counts = {label: number for label, number in count_verdicts(known).items() if label != "failed"}
    parts = [f"{number} {label}" for label, number in counts.items() if number]
    if len(known) < len(reports):
        parts.append(f"{len(reports) - len(known)} could not be scanned")
    partly = sum(report.failed for report in known)
    failed = f"; the scanner failed on parts of {partly}" if partly else ""
    text = f"{len(reports)} scanned: {', '.join(parts)}{failed}"
    rules = [
        finding.rule for report in reports for finding in report.findings if finding.severity in ("critical", "high")
    ]
    return f"{text}. Run: weft scan explain {rules[0]}" if rules else text


def _loud(report: Report) -> bool:
    """Return whether a clean skill has a finding worth its lines."""
    return any(finding.severity == "medium" for finding in report.findings)


def _unknown(report: Report) -> bool:
    return report.failed and not report.findings and not report.coverage.files


def _count_quiet(findings: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.severity] = counts.get(finding.severity, 0) + 1
    counted = ", ".join(f"{number} {severity}" for severity, number in counts.items())
    return f"{counted} finding{'s' * (len(findings) != 1)}"


def _list(values: Sequence[str], most: int) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more


SILENT_S = 1.0  # what is done sooner needs no progress
FEW_SHOWN = 5  # up to this many clean skills are shown in full if they have something worth a look
_EVERY_S = 0.1


def run_scan(
    targets: Sequence[ScannedPath],
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
        made = scan_cached(distinct, cache_dir, jobs=options.jobs or 0, watch=progress.step)
    if judge is not None:
        made = map(judge, made)
    try:
        if options.format == "table" and options.output is None:
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
    """Return whether a report's verdict rests only on the scan having failed."""
    return report.failed and not any(finding.severity in ("critical", "high") for finding in report.findings)


def _document(reports: Sequence[Report], kind: str) -> str:
    """The reports as one text for other programs or a browser."""
    from clawft.scanner.rules import load_rules

    if kind == "json":
        return json_text({"schema": "clawft.scan.v1", **report_json(reports, load_rules())}) + "\n"
    if kind == "sarif":
        from clawft.scanner.reports.sarif import render_sarif

        return json_text(render_sarif(reports, load_rules(), os.getcwd())) + "\n"
    from clawft.scanner.reports.html import render_html

    return render_html(reports, load_excerpt)


def _table_lines(reports: Sequence[Report], verbose: bool) -> Iterator[str]:
    table = TablePrinter(os.getcwd(), None, verbose=verbose, few=len(reports) <= FEW_SHOWN)
    for report in reports:
        yield from table.block(report)
    yield from table.rest()


def _print(lines: Sequence[str], progress: "_Progress") -> None:
    if lines:
        progress.clear()
        click.echo("\n".join(lines))


def _write(path: str, text: str) -> None:
    """Write a file, but never through a symbolic link, which may lead anywhere. Raises: ClawftError."""
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


@click.command("path")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@scan_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Scan what is there; `weft scan PATH` is short for it.

    Exit code: 0, or 3 when a verdict is `malicious` (see --fail-on), or 1 when something could not be scanned.
    """
    targets = [target for path in paths for target in path_targets(path)]
    return run_scan(targets, ScanOptions(**options), open_here().scan_dir)


def path_targets(path: str) -> list[ScannedPath]:
    """Find what there is to scan at a path. Raises: NotFound."""
    try:
        return find_targets(os.path.expanduser(path))
    except (OSError, ValueError) as error:
        raise NotFound("no-such-path", f"There is no such file or folder: {path}", hint=_hint(path)) from error


def _hint(path: str) -> str:
    """Suggest what was meant: a command, another entry of the folder, or a skill by its name."""
    close = find_close(path, ("rules", "explain"))
    if close:
        return f"did you mean `weft scan {close}`?"
    folder, _, name = path.rstrip("/").rpartition("/")
    try:
        close_entry = find_close(name, os.listdir(folder or "."))
    except (OSError, ValueError):
        close_entry = None
    if close_entry:
        return f"did you mean '{os.path.join(folder, close_entry)}'?"
    return "A skill by its name is scanned by: weft skills scan NAME" if "/" not in path else ""
