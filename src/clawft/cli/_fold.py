"""Texts of ours on a terminal of any width: paragraphs are folded anew, and two columns fit or become one."""

import re
import textwrap

__all__ = ["render_help"]

_ALONE = re.compile(r"$|#|    |(?:[-*]|\d+\.) ")  # starts what no earlier line goes on with
_GOES_ON = re.compile(r"(?!$|#|    )")
_COLUMNS = re.compile(r"(\s+)(\S.*?)\s{2,}(\S.*)")


def render_help(text: str, columns: int, *, colour: bool, plain: bool = False) -> str:
    """A text for so many columns. Its code blocks are the indented ones; it has no tables."""
    from clawft.repl.markdown import MarkdownStream  # not needed where nothing is folded

    stream = MarkdownStream(columns, colour=colour, plain=plain)
    return (stream.feed(_reflow(text, columns)) + stream.flush()).rstrip("\n")


def _reflow(text: str, columns: int) -> str:
    """The same Markdown in other lines: a paragraph or an item is one, and code fits."""
    lines: list[str] = []
    for line in text.rstrip().split("\n"):
        if lines and _GOES_ON.match(lines[-1]) and not _ALONE.match(line):
            lines[-1] += f" {line.strip()}"
        else:
            lines += _fit_columns(line, columns)
    return "\n".join(lines) + "\n"


def _fit_columns(line: str, columns: int) -> list[str]:
    """A line of code that is too long and has two columns gets the second below the first; others stay."""
    two = _COLUMNS.fullmatch(line) if line.startswith("    ") and len(line) > columns else None
    if two is None:
        return [line]
    indent = f"{two[1]}    "
    return [two[1] + two[2], *textwrap.wrap(two[3], columns, initial_indent=indent, subsequent_indent=indent)]
