"""Lines of the command line's own making, on the screen of a session."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from clawft.cli.output import diagnostic_lines
from clawft.errors import Diagnostic

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["print_diagnostics", "print_facts", "print_lines"]


def print_lines(repl: "Repl", lines: Iterable[str]) -> None:
    """Lines that may hold colours of ours, and nothing else that a terminal acts on."""
    text = "\n".join(lines)
    if text:
        repl.screen.print(text if repl.screen.colour else click.unstyle(text))


def print_diagnostics(repl: "Repl", diagnostics: Iterable[Diagnostic]) -> None:
    for one in diagnostics:
        print_lines(repl, diagnostic_lines(one, where=repl.app.workspace.shorten(one.where)))


def print_facts(repl: "Repl", facts: Iterable[tuple[str, str]]) -> None:
    """`Label: value` lines, without those that have no value."""
    shown = [(label, value) for label, value in facts if value]
    width = max((len(label) for label, _ in shown), default=0) + 2
    print_lines(repl, [f"{label + ':':{width}}{value}" for label, value in shown])
