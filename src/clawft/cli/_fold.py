"""Markdown as plain text in lines that fit: headings without their marks, paragraphs and lists folded anew."""

import re
import textwrap
from collections.abc import Iterator

import click

__all__ = ["fold_markdown"]

_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_SPAN = re.compile(r"`[^`\n]+`")
_COLUMNS = re.compile(r"(\s*)(\S.*?)\s{2,}(\S.*)")


def fold_markdown(text: str, columns: int | None) -> str:
    """A text of ours for a terminal of so many columns; None: lines stay as long as they are written."""
    return "\n".join(line for block in _blocks(text) for line in _fold(block, columns))


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and single other lines."""
    block: list[str] = []
    for line in text.rstrip().split("\n"):
        alone = not line or line.startswith(("    ", "#"))
        if block and (alone or _ITEM.match(line)):
            yield "\n".join(block)
            block = []
        if alone:
            yield line
        else:
            block.append(line)
    if block:
        yield "\n".join(block)


def _fold(block: str, columns: int | None) -> list[str]:
    if block.startswith("#"):
        return [click.style(block.lstrip("# "), bold=True)]
    if columns is None:
        return block.split("\n")
    if block.startswith("    "):
        return _fold_code(block, columns)
    item = _ITEM.match(block)
    indent = " " * item.end() if item else ""
    whole = _SPAN.sub(lambda span: span[0].replace(" ", "\xa0") if len(span[0]) <= columns // 2 else span[0], block)
    folded = textwrap.wrap(whole, columns, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in folded] or [""]


def _fold_code(line: str, columns: int) -> list[str]:
    """A line as it is, unless it is too long and has two columns: then the second goes below the first."""
    two = _COLUMNS.fullmatch(line)
    if len(line) <= columns or two is None:
        return [line]
    indent = f"{two[1]}    "
    return [two[1] + two[2], *textwrap.wrap(two[3], columns, initial_indent=indent, subsequent_indent=indent)]
