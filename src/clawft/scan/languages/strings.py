"""Programs in a language that nobody knows: the command lines among their strings."""

import re

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Analysis

__all__ = ["note_strings"]

MAX_STRINGS = 200
MAX_TEXT = 200_000
_STRING = re.compile(
    r"(?<!\\)\"((?:[^\"\\\n]|\\.){12,600})\"|(?<!\\)'((?:[^'\\\n]|\\.){12,600})'|(?<!\\)`([^`\n]{12,600})`"
)
# A string that is a command line by itself: a download that is run, or a shell that is told what to do.
_COMMAND = re.compile(
    r"\s*(?:sudo\s+)?(?:(?:curl|wget)\s[^\n]*(?:\||&&|;|-o|-O)|(?:/bin/)?(?:ba|z|da)?sh\s+-c\b|powershell\b|mshta\s|certutil\s"
    r"|(?:cat|tar|base64|zip)\s[^\n]*\||cmd(?:\.exe)?\s+/c|python3?\s+-c|node\s+-e|echo\s[^\n]*\|\s*base64)",
    re.IGNORECASE,
)
_WORDS = ("curl", "wget", "sh -c", "powershell", "mshta", "certutil", "base64", "cmd", "tar ", "cat ", "python", "node")


def note_strings(document: Document, analysis: Analysis) -> None:
    """Add the strings of a text that are command lines, each as a document of its own."""
    lower = document.text[:MAX_TEXT].lower()
    if not any(word in lower for word in _WORDS):
        return
    for count, match in enumerate(_STRING.finditer(document.text, 0, MAX_TEXT)):
        if count >= MAX_STRINGS:
            break
        text = (match[1] or match[2] or match[3]).replace('\\"', '"')
        if _COMMAND.match(text):
            windows = text.lstrip().lower().startswith(("powershell", "mshta", "certutil", "cmd"))
            analysis.children.append(
                make_child(document, text, "batch" if windows else "shell", "string", match.start())
            )
