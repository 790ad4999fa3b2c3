"""What of a long text is analysed: the lines around words that matter, each on the line where it stood."""

import re

__all__ = ["MAX_WHOLE", "is_whole", "shorten"]

MAX_WHOLE = 300_000
_AROUND = 40  # lines kept on either side of a word that matters
_MAX_KEPT = 400_000
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


def shorten(text: str) -> str:
    """A long text with the lines that do not matter left empty: no line moves, and every offset stays."""
    if is_whole(text):
        return text
    kept: list[tuple[int, int]] = []
    total = 0
    for found in _WORDS.finditer(text):
        start, end = _window(text, found.start())
        if kept and start <= kept[-1][1]:
            start = kept[-1][1]
        if start >= end:
            continue
        kept.append((start, end))
        total += end - start
        if total > _MAX_KEPT:
            break
    return _blanked(text, kept)


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


def _blanked(text: str, kept: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in kept:
        parts.append(_empty(text[position:start]))
        parts.append(text[start:end])
        position = end
    parts.append(_empty(text[position:]))
    return "".join(parts)


def _empty(text: str) -> str:
    """Spaces for everything but line breaks."""
    return "\n".join(" " * len(line) for line in text.split("\n"))
