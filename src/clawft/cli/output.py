"""Printing: data to stdout, everything else to stderr; readable without colour, safe whatever a skill's text holds."""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from clawft.errors import ClawftError, Diagnostic

__all__ = [
    "clean",
    "one_line",
    "print_json",
    "print_table",
    "say",
    "show_diagnostic",
    "show_error",
    "terminal_width",
    "to_json",
    "width_of",
]

# Control and direction characters of a stranger's text could rewrite the screen.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}


def clean(text: str) -> str:
    """A text without characters that a terminal would act on."""
    return _UNSAFE.sub("\ufffd", text)


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def say(text: str = "") -> None:
    """Tell the person something that is not the data asked for."""
    click.echo(text, err=True)


def print_json(schema: str, **values: Any) -> None:
    """One document on stdout, `schema` first."""
    document = msgspec.json.encode({"schema": schema, **values})
    click.echo(msgspec.json.format(document, indent=2).decode())


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic or reason as other programs read it."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "path": diagnostic.path,
        "line": diagnostic.line or None,
        "hint": diagnostic.hint or None,
        "fixable": bool(diagnostic.fix),
    }


def show_diagnostic(diagnostic: Diagnostic, *, where: str, err: bool = True, indent: str = "") -> None:
    """`path:line: warning[code]: message`, and the hint below it."""
    place = clean(where)
    head = click.style(f"{diagnostic.severity}[{diagnostic.code}]", fg=_COLOURS[diagnostic.severity])
    click.echo(f"{indent}{place + ': ' if place else ''}{head}: {one_line(diagnostic.message)}", err=err)
    if diagnostic.hint:
        click.echo(f"{indent}  hint: {one_line(diagnostic.hint)}", err=err)


def show_error(error: ClawftError) -> None:
    """`error[code]: message`, where it is and what to do about it."""
    diagnostic = error.diagnostic
    say(f"{click.style(f'error[{diagnostic.code}]', fg='red')}: {one_line(diagnostic.message)}")
    if diagnostic.where:
        say(f"  --> {clean(diagnostic.where)}")
    if diagnostic.hint:
        say(f"hint: {one_line(diagnostic.hint)}")


def terminal_width() -> int:
    """Columns of the terminal; a wide page where there is none."""
    try:
        return (
            int(os.environ["COLUMNS"])
            if os.environ.get("COLUMNS")
            else os.get_terminal_size(sys.stdout.fileno()).columns
        )
    except (OSError, ValueError):
        return 120


def width_of(text: str) -> int:
    """Cells a text takes on a terminal: wide characters take two, joiners and marks none."""
    if text.isascii():
        return len(text)
    import unicodedata  # the one character table, and not needed for plain text

    return sum(
        0
        if unicodedata.combining(char) or char in "\u200b\u200d\ufe0e\ufe0f"
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def fit(text: str, cells: int) -> str:
    """A text padded or cut to a number of cells."""
    if text.isascii():
        return text.ljust(cells) if len(text) <= cells else text[: cells - 1] + "…"
    if width_of(text) > cells:
        while width_of(text) > cells - 1:
            text = text[: min(len(text) - 1, cells)]
        text += "…"
    return text + " " * (cells - width_of(text))


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, wide: int, after: Sequence[str] = ()) -> None:
    """Columns as wide as their content; column number `wide` takes what the terminal leaves, cut with `…`.

    `after` holds a line to print under each row, or ''.
    """
    table = [list(map(one_line, row)) for row in rows]
    widths = [max(map(width_of, column)) for column in zip(heads, *table, strict=True)]
    others = sum(widths) - widths[wide] + 2 * (len(widths) - 1)
    widths[wide] = max(12, min(widths[wide], terminal_width() - others))
    for number, row in enumerate([list(heads), *table]):
        click.echo("  ".join(fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number and after and after[number - 1]:
            click.echo(after[number - 1])
