"""Reports in words: excerpts of files around a finding, and untrusted text made visible."""

import os
import re
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from itertools import islice

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_regular, real_path
from clawft.scanner.findings import ON_LOAD, Finding, Power, Report

AROUND = 2
MAX_BYTES = 16 << 20
MAX_LINE = 400


class Excerpt(Struct, frozen=True):
    """Lines of a file with their numbers, and which of them a finding is about."""

    lines: tuple[tuple[int, str], ...]
    first: int
    last: int


Load = Callable[[Report, Finding], Excerpt | None]


def load_excerpt(report: Report, finding: Finding) -> Excerpt | None:
    """The lines around a finding as they stand in the file; None for a file that has no lines to show."""
    root = report.path
    path = os.path.join(root, finding.path) if os.path.isdir(root) else root
    if "!" in finding.path or not _is_inside(path, root):  # a member of an archive has no lines here
        return None
    top = max(1, finding.line - AROUND)
    last = min(max(finding.line, finding.end_line), finding.line + 2 * AROUND)
    lines = _load_lines(path, top, last + AROUND)
    if not 1 <= finding.line < top + len(lines):
        return None
    around = tuple((number, _cut(line, finding.evidence)) for number, line in enumerate(lines, top))
    return Excerpt(around, finding.line, min(last, around[-1][0]))


def _is_inside(path: str, root: str) -> bool:
    """Return whether a file is where its path says: a link may lead anywhere."""
    real, top = real_path(path), real_path(root)
    return bool(top) and (real == top or real.startswith(top.rstrip("/") + "/"))


def _load_lines(path: str, first: int, last: int) -> list[str]:
    """Some lines of a file. The others are passed over: there may be millions."""
    lines = islice(BytesIO(_load(path)), first - 1, last)
    return [line.rstrip(b"\r\n").decode("utf-8", errors="replace") for line in lines]


@lru_cache(maxsize=1)  # findings come file by file
def _load(path: str) -> bytes:
    try:
        data, _ = read_regular(path, MAX_BYTES)
    except (ClawftError, OSError):
        return b""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace").encode()
    return b"" if b"\0" in data[:4096] else data


def _cut(line: str, evidence: str) -> str:
    """A line, or of an endless one the part that matters."""
    if len(line) <= MAX_LINE:
        return line
    at = max(0, line.find(evidence.strip("…")[:40]))
    start = max(0, min(at - 40, len(line) - MAX_LINE))
    return ("…" if start else "") + line[start : start + MAX_LINE] + ("…" if start + MAX_LINE < len(line) else "")


# Controls, direction marks, characters without width, tags and variation selectors: what a reader does not see.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_ORIGINS = {  # how a text was reached; what is not listed, such as "base64", is its own word
    "appended": "data after the end of a file",
    "archive": "an archive",
    "code": "a code block",
    "comment": "a comment",
    "compressed": "compressed data",
    "config": "a setting",
    "exec": "a command line",
    "fence": "a code block",
    "frontmatter": "the frontmatter",
    "hidden-span": "hidden text",
    "hook": "a hook",
    "html-comment": "an HTML comment",
    "image-alt": "the text of a picture",
    "inline-code": "code in a sentence",
    "link-comment": "a comment that looks like a link",
    "member": "a packed file",
    "metadata": "metadata",
    "name": "the name of a file",
    "pyc": "bytecode",
    "trailing-data": "data after the end of a file",
}
_POWERS = {
    "network": "network", "exec": "programs", "files": "files", "env": "variables", "persistence": "persistence",
    "hooks": "hooks", "tools": "tools",
}  # fmt: skip


def reveal(text: str) -> str:
    """A text with what cannot be seen written out, on one line. Runs of it are counted."""
    return _INVISIBLE.sub(_name, text.replace("\t", "    "))


def render_evidence(finding: Finding, excerpt: Excerpt | None) -> str:
    """Render how the evidence was reached, if the lines do not show it: "Found in base64 in a code block"."""
    if excerpt is not None and _shows(excerpt, finding.evidence):
        return ""
    if finding.origin:
        return f"Found in {render_origin(finding)}"
    return "Found" if excerpt is None else "Read as"


def render_origin(finding: Finding) -> str:
    """Render how the text of a finding was reached; '' where it stands in the file as it is."""
    return " in ".join(_ORIGINS.get(step, step.replace("-", " ")) for step in reversed(finding.origin))


def render_power(power: Power) -> list[tuple[str, tuple[str, ...]]]:
    """Render what a skill would use, kind by kind, without empty kinds."""
    parts = [(label, tuple(map(_plain, getattr(power, field)))) for field, label in _POWERS.items()]
    commands = tuple(hook.removeprefix(f"{ON_LOAD} ") for hook in power.hooks if hook.startswith(ON_LOAD))
    if commands:
        hooks = tuple(hook for hook in power.hooks if not hook.startswith(ON_LOAD))
        parts = [("hooks", hooks) if label == "hooks" else (label, values) for label, values in parts]
        parts.append(("commands as it is loaded", commands))
    return [(label, values) for label, values in parts if values]


def _plain(value: str) -> str:
    """`{}` is what the scanner writes for what is only known when a program runs."""
    return value.replace("{}", "…")


def _shows(excerpt: Excerpt, evidence: str) -> bool:
    """Return whether a reader of the lines sees the evidence."""
    marked = " ".join(text for number, text in excerpt.lines if excerpt.first <= number <= excerpt.last)
    return not _INVISIBLE.search(marked) and evidence.strip("… ") in " ".join(marked.split())


def _name(run: re.Match[str]) -> str:
    text = run[0]
    first = f"U+{ord(text[0]):04X}"
    return f"<{first}>" if len(text) == 1 else f"<{first} and {len(text) - 1} more unseen>"
