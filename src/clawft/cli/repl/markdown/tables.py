"""Tables that fit: columns share the width; where they do not fit, each row is `key: value` lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clawft.cli.repl.markdown.inline import BOLD, DIM, TextSpan, cells, parse_inline, trim, wrap

_PIPE = re.compile(r"(?<!\\)\|")
_SEPARATOR = " │ "
_MAX_CELLS = 10_000  # more than that is shown as written
_NARROW = 8  # columns; below this a column of prose cannot be read

Line = list[TextSpan]


def split_row(row: str) -> list[str]:
    """The cells of a line, still Markdown."""
    row = row.strip(" \t").removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip(" \t").replace("\\|", "|") for cell in _PIPE.split(row)]


@dataclass(frozen=True, slots=True)
class _Table:
    heads: list[list[TextSpan]]
    rows: list[list[list[TextSpan]]]
    aligns: list[str]


def layout_table(source: str, width: int | None) -> list[Line]:
    """The lines of a table; without a width as `key: value` lines, which read well one by one."""
    lines = source.split("\n")
    if lines[0].count("|") * len(lines) > _MAX_CELLS:
        return [[TextSpan(line)] for line in lines]
    table = _parse(lines)
    widths = None if width is None else _fit(table, width)
    if widths is None:
        return _records(table, width)
    rows = [_row(row, table.aligns, widths) for row in table.rows]
    rule = [TextSpan("─┼─".join("─" * room for room in widths), DIM)]
    shown = [*_row(table.heads, table.aligns, widths), rule]
    between = [rule] if any(len(row) > 1 for row in rows) else []
    for number, row in enumerate(rows):
        shown += [*(between if number else []), *row]
    return shown


def _parse(lines: Sequence[str]) -> _Table:
    heads = split_row(lines[0])
    rows = [_with_cells(split_row(line), len(heads)) for line in lines[2:]]
    aligns = [_alignment(mark) for mark in split_row(lines[1])]
    return _Table(
        [parse_inline(head, BOLD) for head in heads], [[parse_inline(cell) for cell in row] for row in rows], aligns
    )


def _alignment(mark: str) -> str:
    if not mark.endswith(":"):
        return "left"
    return "centre" if mark.startswith(":") else "right"


def _with_cells(row: list[str], count: int) -> list[str]:
    """A row with as many cells as there are heads; what is too much stays in the last one."""
    return [*row[: count - 1], " | ".join(row[count - 1 :])] if len(row) >= count else row + [""] * (count - len(row))


def _fit(table: _Table, width: int) -> list[int] | None:
    """Columns for each column, or None: the longest word of each has to fit."""
    columns = list(zip(table.heads, *table.rows, strict=True))
    wants = [max(_longest(wrap(cell, None)) for cell in column) for column in columns]
    needs = [
        max(min(want, _NARROW), *(_longest(wrap(cell, 1)) for cell in column), 1)
        for want, column in zip(wants, columns, strict=True)
    ]
    spare = width - len(_SEPARATOR) * (len(columns) - 1) - sum(needs)
    if spare < 0:
        return None
    missing = sum(wants) - sum(needs)
    if missing <= spare:
        return [max(want, need) for want, need in zip(wants, needs, strict=True)]
    return [need + (want - need) * spare // missing for want, need in zip(wants, needs, strict=True)]


def _longest(lines: list[Line]) -> int:
    return max(sum(cells(span.text) for span in line) for line in lines)


def _row(row: list[list[TextSpan]], aligns: list[str], widths: list[int]) -> list[Line]:
    """The terminal lines of one row."""
    columns = [wrap(cell, room) for cell, room in zip(row, widths, strict=True)]
    lines = []
    for parts in zip_longest(*columns, fillvalue=[]):
        line: Line = []
        for part, align, room in zip(parts, aligns, widths, strict=True):
            line += [TextSpan(_SEPARATOR, DIM)] if line else []
            line += _padded(part, align, room)
        lines.append(trim(line))
    return lines


def _padded(line: Line, align: str, room: int) -> Line:
    spare = room - _longest([line])
    before = {"right": spare, "centre": spare // 2}.get(align, 0)
    return [TextSpan(" " * before), *line, TextSpan(" " * (spare - before))]


def _records(table: _Table, width: int | None) -> list[Line]:
    """`key: value` lines, an empty line between rows."""
    if not table.rows:
        return [line for head in table.heads for line in wrap(head, width)]
    lines: list[Line] = []
    for number, row in enumerate(table.rows):
        lines += [[]] if number else []
        for head, cell in zip(table.heads, row, strict=True):
            key = [*head, TextSpan(": ", BOLD)] if head else []
            lines += wrap([*key, *(TextSpan(span.text.replace("\n", " "), span.style) for span in cell)], width)
    return lines
