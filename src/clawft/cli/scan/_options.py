"""The options of every command that scans."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import click
from msgspec import Struct

__all__ = ["ScanOptions", "scan_options"]

F = TypeVar("F", bound=Callable[..., Any])


class ScanOptions(Struct, frozen=True):
    """How to scan, and how to tell."""

    format: Literal["table", "json", "sarif", "html"] = "table"
    jobs: int | None = None
    fail_on: Literal["malicious", "suspicious", "never"] = "malicious"
    output: str | None = None
    verbose: bool = False
    fresh: bool = False


def scan_options(function: F) -> F:
    options = [
        click.option(
            "--format",
            type=click.Choice(["table", "json", "sarif", "html"]),
            default="table",
            show_default=True,
            help="How to print: to read, for programs, for code hosts and editors, as one page for a browser.",
        ),
        click.option(
            "--jobs",
            "-j",
            type=click.IntRange(min=1),
            metavar="N",
            help="How many processes scan; by default what suits the machine, and one for a few skills.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(["malicious", "suspicious", "never"]),
            default="malicious",
            show_default=True,
            help="Exit 3 from this verdict on.",
        ),
        click.option("--output", "-o", metavar="FILE", help="Write there instead of printing; a file is overwritten."),
        click.option("--fresh", is_flag=True, help="Scan again what was scanned before and has not changed."),
        click.option("--verbose", "-v", is_flag=True, help="Tell all: every finding, and what clean skills would use."),
    ]
    for option in reversed(options):
        function = option(function)
    return function
