"""Terminal output: data on stdout, everything else on stderr, safe whatever a text holds; and a progress line."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.files import encode_json, get_hint
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.parse.model import HIDDEN, escape_invisible

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # could rewrite the screen
_INDENT = "     "
MAX_REASON = 1000  # characters; `why` has the rest
_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}


def clean(text: str) -> str:
    """A text without characters that a terminal would act on, and with those that nobody sees named: `<U+200B>`."""
    return _CONTROL.sub("\ufffd", text if text.isascii() else escape_invisible(text))


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def say(text: str = "") -> None:
    """Tell the person something that is not the data asked for."""
    click.echo(text, err=True)


def say_lines(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)


class CommandResult(Struct, frozen=True):
    """The answer of a command, printed once as `--format` asks."""

    schema: str
    document: Mapping[str, Any] | Callable[[], Mapping[str, Any]]  # for programs; or makes it, where that takes a while
    text: str | Callable[[], object]  # for people, on stdout; or prints it, with notes on stderr
    exit_code: int = 0


def is_json_asked() -> bool:
    """Return whether the command that runs prints JSON, so that it says less meanwhile."""
    context = click.get_current_context(silent=True)
    return context is not None and context.params.get("output") == "json"


def print_result(result: CommandResult, output: str) -> int:
    """Print a result and return its exit code."""
    if output == "json":
        print_json(result.schema, **(result.document() if callable(result.document) else result.document))
    elif isinstance(result.text, str):
        click.echo(result.text)
    else:
        result.text()
    return result.exit_code


def print_json(schema: str, **values: Any) -> None:
    """One document on stdout, `schema` first."""
    click.echo(json_text({"schema": schema, **values}))


def json_text(document: dict[str, Any]) -> str:
    """A document as text, safe on a terminal."""
    return escape_unsafe(msgspec.json.format(encode_json(document), indent=2).decode())


def escape_unsafe(document: str) -> str:
    """A JSON text that is safe on a terminal and means the same."""
    return HIDDEN.sub(lambda match: _escape_json(match[0]), document)


def _escape_json(hidden: str) -> str:
    units = hidden.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def show_diagnostic(diagnostic: Diagnostic, *, where: str, err: bool = True, indent: str = "") -> None:
    """`path:line: warning[code]: message`, and the hint below it."""
    message, *hint = diagnostic_lines(diagnostic, where=where, indent=indent)
    for line in (_fold(message, err=err), *hint):  # a hint holds commands, which a person copies as one line
        click.echo(line, err=err)


def show_diagnostics(
    diagnostics: Iterable[Diagnostic],
    shorten: Callable[[str], str] | None = None,
    *,
    err: bool = True,
    indent: str = "",
) -> None:
    """Show each diagnostic; `shorten` renders its place, which is left out without it."""
    for diagnostic in diagnostics:
        show_diagnostic(diagnostic, where=shorten(diagnostic.where) if shorten else "", err=err, indent=indent)


def diagnostic_lines(diagnostic: Diagnostic, *, where: str, indent: str = "") -> list[str]:
    """Render a diagnostic as coloured lines."""
    place = one_line(where)
    head = click.style(f"{diagnostic.severity}[{diagnostic.code}]", fg=_COLOURS[diagnostic.severity])
    lines = [f"{indent}{place + ': ' if place else ''}{head}: {one_line(diagnostic.message)}"]
    return [*lines, f"{indent}  hint: {one_line(diagnostic.hint)}"] if diagnostic.hint else lines


def show_error(error: ClawftError) -> None:
    """`error[code]: message`, where it is and what to do about it."""
    diagnostic, hint = error.diagnostic, _find_hint(error)
    say(_fold(f"{click.style(f'error[{diagnostic.code}]', fg='red')}: {one_line(diagnostic.message)}"))
    if diagnostic.where:
        say(f"  --> {one_line(diagnostic.where)}")
    if hint:
        say(f"hint: {one_line(hint)}")


def print_error_json(error: ClawftError) -> None:
    """One line on stdout, which may also end a stream of lines."""
    problem = diagnostic_json(error.diagnostic) | {"hint": _find_hint(error) or None}
    click.echo(escape_unsafe(encode_json({"schema": "clawft.error.v1", "error": problem}).decode()))


def _find_hint(error: ClawftError) -> str:
    cause = error.__cause__
    if not error.diagnostic.hint and isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
        return get_hint(cause, error.diagnostic.path)
    return error.diagnostic.hint


def _fold(text: str, *, err: bool = True) -> str:
    """A line as lines of whole words where a terminal would break it anywhere; elsewhere as it is."""
    stream, columns = sys.stderr if err else sys.stdout, terminal_width()
    if columns is None or stream is None or not stream.isatty():
        return text
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if width_of(click.unstyle(lines[-1])) + 1 + width_of(click.unstyle(word)) > columns:
            lines.append(f"  {word}")
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def terminal_width() -> int | None:
    """Columns of the terminal, None where there is none: then nothing needs to fit."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)
    except (AttributeError, OSError, ValueError):
        return None
    return max(columns, 20) if columns > 0 else 80


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

    `after` holds what to say under each row, or ''; it is wrapped and hung on a `└`.
    """
    click.echo("\n".join(table_lines(heads, rows, wide=wide, after=after, columns=terminal_width())))


def table_lines(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, wide: int, columns: int | None, after: Sequence[str] = ()
) -> list[str]:
    """Render a table as text, for so many columns."""
    table = [list(map(one_line, row)) for row in rows]
    widths = [max(map(width_of, column)) for column in zip(heads, *table, strict=True)]
    others = sum(widths) - widths[wide] + 2 * (len(widths) - 1)
    widths[wide] = max(8, min(widths[wide], (columns or 120) - others))
    lines = []
    for number, row in enumerate([list(heads), *table]):
        lines.append("  ".join(fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number and after and after[number - 1]:
            lines.append(_hang(one_line(after[number - 1])[:MAX_REASON], columns))
    return lines


def _hang(text: str, columns: int | None) -> str:
    """A text under its row, its words in lines that fit."""
    lines = [""]
    for word in text.split() if columns is not None else [text]:
        room = (columns or 0) - len(_INDENT)
        if columns is not None and width_of(word) > room:
            word = fit(word, room)
        if lines[-1] and width_of(lines[-1]) + 1 + width_of(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "   └ " + f"\n{_INDENT}".join(lines)


LONG_S = 2.0  # then seconds are counted
SILENT_S = 0.5  # what is done sooner needs no progress
_EVERY_S = 0.1
_SCANNING = "Scanning skills that are new or changed"


class ScanProgress:
    """Show how many of how many are done; called as `App.tell_scan` is."""

    def __init__(self, doing: str = _SCANNING) -> None:
        self.doing = doing
        self.due = 0.0
        self.began = 0.0
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total:
            if self.shown:
                click.echo("\r\x1b[K", nl=False, err=True)
            self.due, self.shown = 0.0, False
        elif not self.due:
            self.began, self.due = now, now + SILENT_S
        elif now >= self.due:
            self.due = now + _EVERY_S
            self.shown = True
            took = f" ({now - self.began:.0f} s)" if now - self.began >= LONG_S else ""  # that it goes on is seen
            click.echo(f"\r\x1b[K{self.doing}: {done} of {total}{took}", nl=False, err=True)


def scan_progress(doing: str = _SCANNING) -> ScanProgress | None:
    """Return a progress display, or None without a terminal."""
    return ScanProgress(doing) if is_terminal_attached() else None


def is_terminal_attached() -> bool:
    """Return whether a user at a terminal sees progress output."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
