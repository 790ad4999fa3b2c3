"""A yes of a person, for commands that take `--yes`."""

import sys
from collections.abc import Iterable

import click

from clawft.cli.output import one_line, say
from clawft.errors import Refused

__all__ = ["confirm"]


def confirm(question: str, what: str, hint: str = "Pass --yes", lines: Iterable[str] = ()) -> bool:
    """Whether a person agrees to `what`, having seen the lines. Raises: Refused where there is nobody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refused("needs-yes", f"{what} needs a yes, and there is no terminal to ask on", hint=hint)
    for line in lines:
        say(line)
    return click.confirm(one_line(question), err=True)
