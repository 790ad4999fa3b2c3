"""Find the frontmatter: `---` alone on the first line, up to the next line that is `---` alone."""

import re

from msgspec import Struct

from clawft.errors import Edit, MissingFrontmatter

__all__ = ["Frontmatter", "split_frontmatter"]

_OPEN = re.compile(r"\s*^---[ \t]*\n", re.MULTILINE)
_CLOSE = re.compile(r"\n---[ \t]*(?:\n\s*|\Z)")
_YAML_LINE = re.compile(r"[ \t#-]|[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$)|$")


class Frontmatter(Struct, frozen=True, gc=False):
    """Where the YAML and the first word of the body stand. `start` is 0 unless blank lines come first."""

    yaml: str
    yaml_start: int
    body_start: int
    start: int = 0


def split_frontmatter(text: str, path: str, label: str) -> Frontmatter | None:
    """The frontmatter, or None where there is none. Raises: MissingFrontmatter when it never ends (D2)."""
    opening = _OPEN.match(text)
    if opening is None:
        return None
    yaml_start = opening.end()
    closing = _CLOSE.search(text, yaml_start - 1)
    if closing is None:
        raise _unterminated(text, yaml_start, path, label)
    start = text.index("---")
    return Frontmatter(text[yaml_start : closing.start() + 1], yaml_start, closing.end(), start)


def _unterminated(text: str, yaml_start: int, path: str, label: str) -> MissingFrontmatter:
    """The error for a frontmatter without end, with the place where the end most likely belongs."""
    offset, line = yaml_start, text.count("\n", 0, yaml_start)
    for content in text[yaml_start:].split("\n"):
        if not content.strip() or not _YAML_LINE.match(content) or content.startswith("# "):
            break
        offset, line = offset + len(content) + 1, line + 1
    if offset > len(text):  # the last line has no end
        fix: tuple[Edit, ...] = (Edit(len(text), len(text), "\n---\n"),)
    else:
        fix = (Edit(offset, offset, "---\n"),) if offset > yaml_start else ()
    return MissingFrontmatter(
        "frontmatter-unterminated",
        f"{label}: the frontmatter opens with '---' but no later line is '---' alone",
        path=path,
        line=text.count("\n", 0, text.index("---")) + 1,
        hint=f"End it with a line '---', most likely after line {line}" if fix else "End it with a line '---'",
        fix=fix,
    )
