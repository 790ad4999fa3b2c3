"""What of a long text is analysed: the lines around words that matter, with the places where they stood."""

import re
from bisect import bisect_right
from typing import NamedTuple

__all__ = ["MAX_WHOLE", "Shortened", "is_whole", "shorten"]

MAX_WHOLE = 150_000
_AROUND = 40  # lines kept on either side of a word that matters
_MAX_KEPT = 150_000
_BESIDE = 3000  # characters kept on either side of such a word, in a line that is too long
_WORDS = re.compile(
    r"\b(?:exec\w*|eval|system|popen|Popen|spawn\w*|subprocess|child_process|socket|connect|requests?|urlopen|urllib|fetch|axios"
    r"|https?://|curl\w*|atob|b64decode|base64\w*|fromCharCode|unhexlify|fromhex|pack|inflate|gunzip|environ|getenv|process\.env"
    r"|ENV|readFile\w*|writeFile\w*|open|file_get_contents|__import__|import_module|getattr|Function|loadstring|pickle|marshal"
    r"|id_rsa|\.ssh|\.aws|Command|Process\w*|shell_exec|passthru|assert|cookie|clipboard|crontab|chmod|unlink|rmtree)\b"
)


def is_whole(text: str) -> bool:
    """Whether a text is short enough to be analysed to its end."""
    return len(text) <= MAX_WHOLE


class Shortened(NamedTuple):
    """The parts of a text that are analysed, one below the other, and where each of them stood."""

    text: str
    starts: list[int]  # of each part in the shortened text
    origins: list[int]  # of each part in the whole text

    def place(self, offset: int) -> int:
        """The offset in the whole text of one in the shortened text."""
        index = bisect_right(self.starts, offset) - 1
        return self.origins[index] + offset - self.starts[index] if index >= 0 else offset


def shorten(text: str) -> Shortened:
    """The whole of a text of common length; of a long one, the lines around calls that matter."""
    if is_whole(text):
        return Shortened(text, [0], [0])
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    total = last = 0
    for found in _WORDS.finditer(text):
        if found.end() < last - _BESIDE // 2:
            continue  # well inside what is kept already
        start, end = _window(text, found.start())
        start = max(start, last)
        if start < end:
            starts.append(total)
            origins.append(start)
            parts.append(text[start:end] + "\n")
            total += end - start + 1
            last = end
        if total > _MAX_KEPT:
            break
    return Shortened("".join(parts), starts, origins)


def _window(text: str, at: int) -> tuple[int, int]:
    start = end = at
    for _ in range(_AROUND):
        before = text.rfind("\n", max(0, at - _BESIDE), start)
        after = text.find("\n", end + 1, at + _BESIDE)
        start = before if before >= 0 else max(0, at - _BESIDE)
        end = after if after >= 0 else min(len(text), at + _BESIDE)
        if before < 0 and after < 0:
            break
    return start, end
