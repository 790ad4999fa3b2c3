"""Reports and rules as the JSON of `clawft.scan.v1`, and reports as bytes for the cache and between processes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from clawft import __version__
from clawft.files import replace_surrogates
from clawft.scanner.findings import VERDICTS, Report
from clawft.scanner.rule import ScanRule


def report_json(reports: Sequence[Report], rules: Sequence[ScanRule]) -> dict[str, Any]:
    """All but the `schema` of a document."""
    return {
        "engine": {"version": __version__, "rules": len(rules)},
        "summary": count_verdicts(reports),
        "results": [msgspec.to_builtins(report_fields(report)) for report in reports],
    }


def count_verdicts(reports: Sequence[Report]) -> dict[str, int]:
    """Count the reports of each verdict, the worst first, and the scans that failed."""
    counts: dict[str, int] = {
        verdict: sum(report.verdict == verdict for report in reports) for verdict in reversed(VERDICTS)
    }
    return {**counts, "failed": sum(report.failed for report in reports)}


_RULE_FIELDS = (
    "id", "title", "severity", "category", "what", "why", "example", "counter_example", "fix", "owasp", "atlas",
    "aliases",
)  # fmt: skip


def rule_json(rule: ScanRule) -> dict[str, Any]:
    """A rule with all its texts."""
    return {name: getattr(rule, name) for name in _RULE_FIELDS}


def report_fields(report: Report) -> dict[str, Any]:
    """In the order of the contract: what was added stands last."""
    first = ("path", "name", "digest", "verdict", "findings", "power")
    names = [*first, *(name for name in report.__struct_fields__ if name not in first)]
    return {name: getattr(report, name) for name in names}


_decoder = msgspec.msgpack.Decoder(Report)


def encode_report(report: Report) -> bytes:
    """A report as bytes; what is no text in it, such as the name of a file, is written with �."""
    try:
        return msgspec.msgpack.encode(report)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(replace_surrogates(msgspec.to_builtins(report)))


def plain_report(report: Report) -> dict[str, Any]:
    """A report as JSON can hold it, in the order of `clawft.scan.v1`; what is no text is written with �."""
    plain: dict[str, Any] = replace_surrogates(msgspec.to_builtins(report_fields(report)))
    return plain


def decode_report(content: bytes | memoryview) -> Report | None:
    """The report of such bytes; None if they are something else."""
    try:
        return _decoder.decode(content)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
