"""The scan of one skill, from its files to a report."""

import os
import time
from collections import deque
from collections.abc import Collection

from clawft.scan.documents import MAX_DEPTH, Document
from clawft.scan.facts import Fact
from clawft.scan.findings import Coverage, Finding, Gap, Report
from clawft.scan.fixtures import mark_fixtures
from clawft.scan.intake import read_files
from clawft.scan.languages import analyse
from clawft.scan.languages.carried import find_carried
from clawft.scan.languages.imports import join_imports
from clawft.scan.power import summarise_power
from clawft.scan.rule import Hit, Rule
from clawft.scan.rules import load_rules
from clawft.scan.subject import Subject
from clawft.scan.verdict import judge
from clawft.scan.views import undisguise

__all__ = ["scan_path"]

BUDGET_S = 20.0
MAX_DOCUMENTS = 20_000
MAX_CHILD_BYTES = 8 << 20


def scan_path(path: str, *, budget_s: float = BUDGET_S, without: Collection[str] = ()) -> Report:
    """Scan a skill folder, a single file or an archive. Nothing of it is run, and no link is followed.

    `without`: folders below it that are left out, since they are scanned by themselves.

    Raises: OSError, when the path itself is missing or unreadable.
    """
    path = os.path.abspath(path)
    deadline = time.monotonic() + budget_s
    files = read_files(path, deadline, without)
    subject = Subject(path, files.name, files.skill, [], list(files.facts), list(files.gaps))
    _analyse_all(subject, mark_fixtures(files), deadline)
    _join_files(subject, deadline)
    findings = tuple(_check_rules(subject))
    verdict, confidence = judge(findings, subject.gaps)
    return Report(
        path=path,
        name=subject.name,
        digest=files.digest,
        verdict=verdict,
        confidence=confidence,
        findings=findings,
        power=summarise_power(subject),
        coverage=Coverage(files.count, files.size, tuple(subject.gaps)),
    )


def _analyse_all(subject: Subject, documents: list[Document], deadline: float) -> None:
    """Turn documents into facts, and what they hold into documents, until nothing new turns up or a limit is met."""
    pending = deque(documents)
    children_bytes = 0
    seen: set[tuple[str, str, str]] = set()
    crowded: set[str] = set()
    while pending:
        document = pending.popleft()
        if time.monotonic() > deadline:
            left = f"The time for this scan was over ({len(pending) + 1} texts left)"
            subject.gaps.append(Gap(document.path, left, failed=True))
            return
        if len(subject.documents) >= MAX_DOCUMENTS:
            left = f"Too much is packed inside it ({len(pending) + 1} texts left)"
            subject.gaps.append(Gap(document.path, left, failed=True))
            return
        try:
            view = undisguise(document)
            analysis = analyse(view.document)
        except Exception as error:  # whatever a stranger's text does to an analyser, the rest is still looked at
            subject.gaps.append(Gap(document.path, f"The scanner failed on it: {error!r:.200}", failed=True))
            continue
        subject.documents.append(view.document)
        subject.facts.extend(view.facts)
        subject.facts.extend(analysis.facts)
        subject.gaps.extend(Gap(document.path, reason) for reason in analysis.gaps)
        for child in (*view.children, *analysis.children):
            key = (child.path, child.language, child.text)
            if key in seen or not child.text.strip():
                continue
            if child.flat and children_bytes > MAX_CHILD_BYTES:  # what is not packed is looked at all the same
                crowded.add(child.path)
                continue
            seen.add(key)
            if child.depth > MAX_DEPTH:
                subject.gaps.append(Gap(child.path, "It is nested too deeply"))
                continue
            children_bytes += len(child.text) if child.flat else 0
            pending.append(child)
    subject.gaps.extend(Gap(path, "Too much is packed inside it", failed=True) for path in sorted(crowded))


def _join_files(subject: Subject, deadline: float) -> None:
    """Add what flows from file to file where programs import each other, or run what a file of data holds."""
    if time.monotonic() > deadline:
        if not any(gap.failed for gap in subject.gaps):
            subject.gaps.append(Gap("", "The time for this scan was over before imports were followed", failed=True))
        return
    try:
        joined = join_imports(subject.documents, subject.facts)
        joined.children.extend(find_carried(subject.documents, [*subject.facts, *joined.facts]))
    except Exception as error:  # each file was analysed by itself already
        subject.gaps.append(Gap("", f"The scanner failed to follow imports: {error!r:.200}", failed=True))
        return
    subject.facts.extend(joined.facts)
    known = {(one.path, one.language, one.text) for one in subject.documents}
    _analyse_all(subject, [one for one in joined.children if (one.path, one.language, one.text) not in known], deadline)


def _check_rules(subject: Subject) -> list[Finding]:
    """What every rule objects to, the worst first, each line once per rule."""
    found: dict[tuple[str, str, int], Finding] = {}
    for rule in load_rules():
        for hit in rule.check(subject):
            finding = _describe(rule, hit)
            key = (finding.rule, finding.path, finding.line)
            if key not in found or found[key].confidence < finding.confidence:
                found[key] = finding
    order = ("critical", "high", "medium", "low", "info")
    return sorted(found.values(), key=lambda one: (order.index(one.severity), one.path, one.line, one.rule))


def _describe(rule: Rule, hit: Hit) -> Finding:
    fact = hit.fact
    mentioned = fact.document.mention
    return Finding(
        rule=rule.id,
        severity="low" if mentioned and rule.severity in ("critical", "high", "medium") else rule.severity,
        category=rule.category,
        message=hit.message,
        path=fact.document.path,
        line=fact.line,
        end_line=fact.line,
        evidence=_quote(fact),
        why=rule.why,
        fix=rule.fix,
        confidence=round(hit.confidence * (0.5 if mentioned else 1), 2),
        origin=fact.document.origin,
    )


MAX_EVIDENCE = 240
MAX_LINE = 8_000


def _quote(fact: Fact) -> str:
    """The line that shows a fact: of its own text, so that what was hidden is shown as it was understood."""
    text = fact.document.text_of(fact.line) or fact.via
    if len(text) > MAX_LINE:  # of a page without line breaks, only what stands around it matters
        at = max(0, text.find(fact.via) if fact.via else 0)
        text = text[max(0, at - MAX_LINE // 2) : at + MAX_LINE]
    text = " ".join(text.split())
    return text if len(text) <= MAX_EVIDENCE else _around(text, fact.via)


def _around(text: str, via: str) -> str:
    at = max(0, text.find(via) if via else 0)
    start = max(0, min(at - 60, len(text) - MAX_EVIDENCE))
    return ("…" if start else "") + text[start : start + MAX_EVIDENCE] + "…"
