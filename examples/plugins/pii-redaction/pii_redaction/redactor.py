"""A text without personal data: what is found becomes placeholders, and all else stays to the letter."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

from .allowed import Allowed
from .kinds import Detector

__all__ = ["Named", "Redactor"]


class Named(Protocol):
    """Gives the placeholder of a value."""

    def get(self, kind: str, plain: str) -> str: ...


class Redactor:
    """Looks for some kinds of personal data. What one kind took, the next does not look at."""

    def __init__(self, detectors: Sequence[Detector], allowed: Allowed) -> None:
        self._detectors = tuple(detectors)
        self._allowed = allowed

    def redact(self, text: str, placeholders: Named, counts: dict[str, int]) -> str:
        """The text as a model may read it; `counts` hears how many of each kind were found."""
        found: list[tuple[int, int, str]] = []
        for detector in self._detectors:
            if detector.hint and not any(one in text for one in detector.hint):
                continue
            free = [one for one in self._find(detector, text) if not _is_taken(found, one)]
            if free:
                counts[detector.kind] = counts.get(detector.kind, 0) + len(free)
                found += [(start, end, placeholders.get(detector.kind, plain)) for start, end, plain in free]
                found.sort()
        if not found:
            return text
        pieces, at = [], 0
        for start, end, placeholder in found:
            pieces += [text[at:start], placeholder]
            at = end
        return "".join([*pieces, text[at:]])

    def _find(self, detector: Detector, text: str) -> list[tuple[int, int, str]]:
        matches = []
        at = 0
        while match := detector.pattern.search(text, at):
            plain, end = detector.read(match)
            if plain and not self._allowed.has(detector.kind, plain):
                matches.append((match.start(), end, plain))
            at = max(end, match.start() + 1) if plain else match.start() + 1
        return matches


def _is_taken(found: Sequence[tuple[int, int, str]], one: tuple[int, int, str]) -> bool:
    """Whether a place overlaps one of those that were found before, which are in order."""
    at = bisect_left(found, one[1], key=lambda taken: taken[0])
    return at > 0 and found[at - 1][1] > one[0]
