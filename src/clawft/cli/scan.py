"""Reports to be read on a terminal: one block for each skill that has something to say, one line for each other."""

import os
from collections.abc import Sequence

import click

from clawft.cli.output import clean, fit, one_line, width_of
from clawft.scan.findings import Finding, Report
from clawft.scan.reports.excerpt import Excerpt, load_excerpt
from clawft.scan.reports.json import count_verdicts
from clawft.scan.reports.words import describe_evidence, describe_power, reveal

__all__ = ["TablePrinter", "summary_line"]

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
        told: set[object] = set()
        for finding in shown:
            lines += ["", *self._finding(report, finding, told)]
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
            for label, values in describe_power(report.power)
        ]
        return self._wrap(f"Power: {'; '.join(parts)}", "  ") if parts else []

    def _choose(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
        """What is shown in full, and what is only counted."""
        if self.verbose:
            return list(findings), []
        shown: list[Finding] = []
        quiet: list[Finding] = []
        for one in findings:
            many = sum(one.rule == other.rule for other in shown) >= MAX_PER_RULE
            minor = one.severity in ("low", "info")
            (quiet if many or minor or len(shown) >= MAX_FINDINGS else shown).append(one)
        return shown, quiet

    def _finding(self, report: Report, finding: Finding, told: set[object]) -> list[str]:
        """A finding with its lines and reasons; `told` are the places and rules of which that was said before."""
        head, *more = self._wrap(f"{finding.severity} {finding.rule}, {finding.path}:{finding.line}", "  ")
        severity = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True)
        lines = [head.replace(finding.severity, severity, 1), *more, *self._wrap(finding.message, "    ")]
        place = (finding.path, finding.line, finding.evidence)
        if place not in told:
            excerpt = load_excerpt(report, finding)
            lines += self._excerpt(excerpt) if excerpt else []
            how = describe_evidence(finding, excerpt)
            lines += self._wrap(f"{how}: {finding.evidence}", "    ") if how else []
        if finding.rule not in told:
            lines += [*self._wrap(f"Why: {finding.why}", "    "), *self._wrap(f"What to do: {finding.fix}", "    ")]
        told.update((place, finding.rule))
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
        told = [f"Not analysed: {gap.path}: {gap.reason}" if gap.path else gap.reason for gap in gaps[:most]]
        if len(gaps) > most:
            told.append(f"Not analysed: {len(gaps) - most} more: --verbose lists them")
        return [line for text in told for line in self._wrap(text, "  ")]

    def _wrap(self, text: str, indent: str) -> list[str]:
        """A stranger's text in lines that fit; a word that does not is cut."""
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
    """How many were scanned, and what came of it."""
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
    rules = [one.rule for report in reports for one in report.findings if one.severity in ("critical", "high")]
    return f"{text}. Run: weft scan explain {rules[0]}" if rules else text


def _loud(report: Report) -> bool:
    """Whether a clean skill has a finding worth its lines."""
    return any(one.severity == "medium" for one in report.findings)


def _unknown(report: Report) -> bool:
    return report.failed and not report.findings and not report.coverage.files


def _count_quiet(findings: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for one in findings:
        counts[one.severity] = counts.get(one.severity, 0) + 1
    told = ", ".join(f"{number} {severity}" for severity, number in counts.items())
    return f"{told} finding{'s' * (len(findings) != 1)}"


def _list(values: Sequence[str], most: int) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more
