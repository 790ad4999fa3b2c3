"""What a Markdown body says by itself: its first paragraph, and how much of it fits."""

import re

__all__ = ["first_paragraph", "truncate_utf8"]

MAX_PARAGRAPH = 200
_MAX_CHARS, _MAX_LINES = 20_000, 60  # a description is at the top or nowhere
_SKIP = re.compile(r"#|!\[|\[!\[|<!--|---+$|\*\*\*+$|===+$|\|")


def first_paragraph(body: str) -> str:
    """The first paragraph that is prose, its lines joined, at most 200 characters; else the first heading (R9, D1)."""
    paragraph: list[str] = []
    heading, fenced = "", False
    for raw in body[:_MAX_CHARS].split("\n", _MAX_LINES)[:_MAX_LINES]:
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        if not line or _SKIP.match(line):
            if paragraph:
                break
            if line.startswith("#") and not heading:
                heading = line.lstrip("#").strip()
            continue
        paragraph.append(line)
    return (" ".join(paragraph) or heading)[:MAX_PARAGRAPH].strip()


def truncate_utf8(text: str, max_bytes: int) -> str:
    """The longest start of a text that fits, ending on a character boundary (D26)."""
    if len(text) * 4 <= max_bytes:
        return text
    encoded = text.encode("utf-8", errors="replace")
    return text if len(encoded) <= max_bytes else encoded[:max_bytes].decode("utf-8", errors="ignore")
