"""The scan of one skill, from its files to a report."""

import os
import re
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence

from msgspec import structs

from clawft.scanner.disguises import undisguise
from clawft.scanner.facts import MAX_DEPTH, Document, Fact, Kind
from clawft.scanner.findings import ON_LOAD, Coverage, Finding, Gap, Power, Report, judge, sort_findings
from clawft.scanner.intake import ScannedFiles, read_files
from clawft.scanner.languages import analyse
from clawft.scanner.languages.embedded import find_carried
from clawft.scanner.languages.imports import join_imports
from clawft.scanner.regex import lazy
from clawft.scanner.rule import RuleHit, ScanRule, Subject
from clawft.scanner.rules import load_rules
from clawft.scanner.vocabulary.hosts import host_of
from clawft.skills.parse.model import Skill

_FOLDER = lazy(
    r"(^|/)(test[-_]?)?(fixtures?|samples|testdata|test[-_]?cases|corpus)(/|[^/]*\.(json|ya?ml|txt|csv|md)$)"
    r"|(^|/)tests?/[^/]+\.(json|ya?ml|txt|csv)$",
    re.IGNORECASE,
)
_TOPIC = lazy(
    r"\b(secur\w+|scan\w*|audit\w*|guard\w*|detect\w*|injection|malware|malicious|threats?|vulnerab\w+|vet\w*)\b",
    re.IGNORECASE,
)


# How a folder is gone into, or all of it used: {} is its name.
_ENTERED = (
    r"\b(?:cd|pushd|bash|sh|source|python3?|node|import|from)\s+[\w./\"'$-]{{0,80}}?\b{0}\b"
    r"|\b{0}/(?:[*?$\"'{{\[]|\S{{1,80}}[*?])|[\"']{0}/?[\"']"
)


def mark_fixtures(files: ScannedFiles) -> list[Document]:
    """The documents, those that are only test data of a security tool marked as mentions.

    A file that the instructions or a script of the skill name, or whose folder they go into, may well be run, so it
    counts.
    """
    about = f"{files.name} {files.skill.description if files.skill else ''}"
    if not _TOPIC.search(about.replace("-", " ").replace("_", " ")):
        return files.documents
    others = [document for document in files.documents if not _FOLDER.search(document.path)]
    data = {document.path for document in files.documents if _FOLDER.search(document.path)}
    texts, names = [other.text for other in others], {other.path.rpartition("/")[2] for other in others}
    folders = {part for path in data for part in path.split("/")[:-1] if _FOLDER.search(f"{part}/")}
    entered = {folder for folder in folders if _is_entered(folder, texts)}
    unused = {path for path in data if entered.isdisjoint(path.split("/")) and not _is_named(path, texts, names)}
    return [
        structs.replace(document, mention=True) if document.path in unused else document for document in files.documents
    ]


def _is_entered(folder: str, texts: Sequence[str]) -> bool:
    entered = re.compile(_ENTERED.format(re.escape(folder)))
    return any(entered.search(text) for text in texts)


def _is_named(path: str, texts: Sequence[str], others: Collection[str]) -> bool:
    """Return whether a file is named by its path, or by a name that no other file has."""
    name = path.partition("!")[0].rpartition("/")[2]
    return any(path in text or (name not in others and name in text) for text in texts)


# Languages whose facts name the program that they start; others name the call that starts it.
_COMMANDS = frozenset({"shell", "fish", "powershell", "batch", "makefile", "dockerfile"})
_PLACES = frozenset({"CLAUDE_SKILL_DIR", "CLAUDE_PROJECT_DIR"})
_NAME = re.compile(r"[\w.+-]{1,64}")


def summarise_power(subject: Subject) -> Power:
    """Return the power of a skill when all it holds ran, sorted, each once. What is only mentioned does not count."""
    granted = _find_declared_variables(subject.skill)
    return Power(
        network=_list(host_of(fact.target) for fact in _used(subject, Kind.FETCH, Kind.SEND, Kind.CONNECT)),
        exec=_list(_program(fact) for fact in subject.facts if not fact.document.mention),
        files=_list(_path(fact) for fact in _used(subject, Kind.READ, Kind.WRITE, Kind.DELETE, Kind.PERMIT)),
        env=_list(fact.target for fact in _used(subject, Kind.ENV) if fact.target not in granted),
        persistence=_list(fact.target for fact in _used(subject, Kind.PERSIST)),
        hooks=_list(map(_hook, _used(subject, Kind.HOOK))),
        tools=_list(subject.skill.allowed_tools if subject.skill else ()),
    )


def _used(subject: Subject, *kinds: Kind) -> list[Fact]:
    return [fact for fact in subject.of(*kinds) if not fact.document.mention]


def _find_declared_variables(skill: Skill | None) -> frozenset[str]:
    """Variables that a program of a skill is given by us: where it is, and the arguments of the tools it declares."""
    tools = skill.provided_tools if skill else ()
    named = [name for tool in tools for name in _names(tool.parameters.get("properties"))]
    return _PLACES.union(f"ARG_{name.upper()}" for name in named)


def _names(properties: object) -> Iterable[str]:
    return properties if isinstance(properties, dict) else ()


def _program(fact: Fact) -> str:
    """The program behind a fact: one that a command line starts, or that installs something."""
    if fact.kind is Kind.INSTALL:
        installer = fact.target.partition(":")[0]
        return installer if installer != "download" else ""  # that is left to a person
    if fact.document.language in _COMMANDS and fact.via:
        words = fact.via.split()
    else:
        words = fact.target.split() if fact.kind is Kind.EXEC else []
    name = words[0].rpartition("/")[2] if words else ""
    return name if _NAME.fullmatch(name) else ""


def _hook(fact: Fact) -> str:
    """List what starts by itself; with its words where it is a command in a text, which runs as that is loaded."""
    return f"{fact.target} {' '.join(fact.via.split())}" if fact.target == ON_LOAD else fact.target


def _path(fact: Fact) -> str:
    return fact.target.split()[-1] if fact.kind is Kind.PERMIT and fact.target.split() else fact.target


def _list(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))


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
        except Exception as error:  # whatever untrusted text does to an analyser, the rest is still analysed
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
    known = {(document.path, document.language, document.text) for document in subject.documents}
    _analyse_all(
        subject, [child for child in joined.children if (child.path, child.language, child.text) not in known], deadline
    )


def _check_rules(subject: Subject) -> list[Finding]:
    """Run every rule and return the findings, the worst first, each line once per rule."""
    found: dict[tuple[str, str, int], Finding] = {}
    for rule in load_rules():
        for hit in rule.check(subject):
            finding = _make_finding(rule, hit)
            key = (finding.rule, finding.path, finding.line)
            if key not in found or found[key].confidence < finding.confidence:
                found[key] = finding
    return sort_findings(found.values())


def _make_finding(rule: ScanRule, hit: RuleHit) -> Finding:
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
    if len(text) <= MAX_EVIDENCE:
        return text
    at = max(0, text.find(fact.via) if fact.via else 0)
    start = max(0, min(at - 60, len(text) - MAX_EVIDENCE))
    return ("…" if start else "") + text[start : start + MAX_EVIDENCE] + "…"
