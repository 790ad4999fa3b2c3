"""What markup keeps from a reader: elements that are not drawn, and where their text ends."""

import re
from collections.abc import Iterator

__all__ = ["find_hidden_elements"]

MAX_ELEMENTS = 200
MAX_TEXT = 20_000
MAX_TAG = 800
_TAG = re.compile(rf"<([a-z][a-z0-9]{{0,10}})(?=[\s/\"'])([^<>]{{4,{MAX_TAG}}})>", re.IGNORECASE)
_UNSEEN = re.compile(
    r"\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|opacity\s*:\s*0(?![.\d]*[1-9])|(?:max-)?height\s*:\s*0(?![.\d]*[1-9])|[\s;\"']width\s*:\s*0(?![.\d]*[1-9])"
    r"|left\s*:\s*-\d{3,}"
    r"|color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b|aria-hidden\s*=\s*[\"']?true|clip\s*:\s*rect"
    r"|fill\s*=\s*[\"'](?:none|transparent|white|#fff(?:fff)?)[\"']",
    re.IGNORECASE,
)


def find_hidden_elements(text: str) -> Iterator[tuple[int, int]]:
    """Where the text of each element begins and ends that is marked not to be seen."""
    lower = text.lower()
    if len(lower) != len(text) or not ("hidden" in lower or "style" in lower or "fill" in lower):
        return
    count = 0
    for match in _TAG.finditer(text):
        if not _UNSEEN.search(match[2]):
            continue
        count += 1
        if count > MAX_ELEMENTS:
            return
        end = lower.find("</" + match[1].lower(), match.end(), match.end() + MAX_TEXT)
        yield match.end(), end if end >= 0 else min(len(text), match.end() + MAX_TEXT)
