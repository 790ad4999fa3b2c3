"""Rates with their intervals, what each rule hits, and times: what `eval_scan` counts, as values and as text."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scan_labels import Labelled


@dataclass(frozen=True)
class Outcome:
    """What a scanner said of one skill."""

    skill: Labelled
    flagged: bool
    seconds: float
    error: str = ""  # the scanner failed or ran out of time
    rules: tuple[tuple[str, str], ...] = ()  # (rule, severity), each once
    verdict: str = ""


@dataclass(frozen=True)
class Rate:
    """How many of how many, with the 95 % interval of Wilson."""

    count: int
    total: int

    @property
    def share(self) -> float:
        return self.count / self.total if self.total else 0.0

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        if not self.total:
            return 0.0, 1.0
        n, p = self.total, self.share
        middle, spread = p + z * z / 2 / n, z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
        return max(0.0, (middle - spread) / (1 + z * z / n)), min(1.0, (middle + spread) / (1 + z * z / n))

    def __str__(self) -> str:
        if not self.total:
            return "   -"
        low, high = self.interval()
        return f"{self.count:>4}/{self.total:<4}{100 * self.share:6.1f} % [{100 * low:.0f}, {100 * high:.0f}]"

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"count": self.count, "total": self.total, "share": self.share, "low": low, "high": high}


Key = Callable[[Labelled], str]


def rate_by(outcomes: Iterable[Outcome], key: Key) -> dict[str, Rate]:
    """The share flagged, by some property of the skill."""
    total, flagged = Counter[str](), Counter[str]()
    for one in outcomes:
        total[key(one.skill)] += 1
        flagged[key(one.skill)] += one.flagged
    return {name: Rate(flagged[name], count) for name, count in sorted(total.items())}


KEYS: tuple[tuple[str, Key], ...] = (
    ("all", lambda skill: "malicious" if skill.malicious else "benign"),
    ("tier", lambda skill: skill.tier),
    ("category", lambda skill: f"{'+' if skill.malicious else '-'} {skill.category}"),
)


@dataclass(frozen=True)
class RuleFigures:
    """How many skills a rule hits: malicious and benign ones, at `critical` and at any level."""

    rule: str
    critical: tuple[int, int] = (0, 0)
    any: tuple[int, int] = (0, 0)
    alone: int = 0  # malicious skills that no other rule has at critical

    @property
    def precision(self) -> Rate:
        return Rate(self.critical[0], sum(self.critical))


def count_rules(outcomes: Iterable[Outcome]) -> list[RuleFigures]:
    """What each rule hits, the one with most critical hits first."""
    counts: dict[str, Counter[tuple[str, bool]]] = {}
    for one in outcomes:
        critical = {rule for rule, severity in one.rules if severity == "critical"}
        for rule in {rule for rule, _ in one.rules}:
            counter = counts.setdefault(rule, Counter())
            counter["any", one.skill.malicious] += 1
            counter["critical", one.skill.malicious] += rule in critical
            counter["alone", one.skill.malicious] += critical == {rule}
    found = [
        RuleFigures(
            rule, (n["critical", True], n["critical", False]), (n["any", True], n["any", False]), n["alone", True]
        )
        for rule, n in counts.items()
    ]
    return sorted(found, key=lambda one: (-sum(one.critical), -sum(one.any), one.rule))


@dataclass(frozen=True)
class Times:
    """Seconds per skill."""

    median: float
    p95: float
    longest: float
    total: float


def take_times(outcomes: Sequence[Outcome]) -> Times:
    seconds = sorted(one.seconds for one in outcomes) or [0.0]
    last = len(seconds) - 1
    return Times(seconds[last // 2], seconds[math.floor(0.95 * last)], seconds[last], sum(seconds))


def render_rates(columns: dict[str, Sequence[Outcome]]) -> str:
    """A table: a line for each tier and category, a column for each half or scanner."""
    lines = [f"{'':42}" + "".join(f"{name:28}" for name in columns)]
    for title, key in KEYS:
        by_column = [rate_by(outcomes, key) for outcomes in columns.values()]
        names = sorted({name for rates in by_column for name in rates}, key=lambda name: (name.startswith("-"), name))
        lines += ["", title] if title != "all" else [""]
        for name in names:
            cells = "".join(f"{rates.get(name, Rate(0, 0))!s:28}" for rates in by_column)
            lines.append(f"  {name:38}{cells}".rstrip())
    return "\n".join(lines)


def render_rules(figures: Sequence[RuleFigures]) -> str:
    lines = [f"{'rule':38}{'critical +':>11}{'-':>5}{'any +':>8}{'-':>5}{'alone':>7}  precision at critical"]
    for one in figures:
        numbers = f"{one.critical[0]:11}{one.critical[1]:5}{one.any[0]:8}{one.any[1]:5}{one.alone:7}"
        lines.append(f"{one.rule:38}{numbers}  {one.precision}")
    return "\n".join(lines)


def render_times(name: str, times: Times, outcomes: Sequence[Outcome]) -> str:
    per_second = len(outcomes) / times.total if times.total else 0.0
    errors = sum(bool(one.error) for one in outcomes)
    said = f", {errors} failed" if errors else ""
    spread = (
        f"median {times.median * 1000:.1f} ms, p95 {times.p95 * 1000:.1f} ms, longest {times.longest * 1000:.0f} ms"
    )
    return f"{name:10}{spread}, {per_second:.1f} skills/s{said}"


def to_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """All figures of one scanner on some skills."""
    return {
        "rates": {
            title: {name: rate.to_json() for name, rate in rate_by(outcomes, key).items()} for title, key in KEYS
        },
        "rules": [asdict(one) for one in count_rules(outcomes)],
        "seconds": asdict(take_times(outcomes)),
        "errors": sum(bool(one.error) for one in outcomes),
    }
