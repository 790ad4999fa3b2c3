"""A yes of a person, for commands that take `--yes`; and what is said where they stop it in the middle (Ctrl-C)."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

from clawft.cli.output import one_line, say
from clawft.errors import Refused

__all__ = ["confirm", "stopped_before"]


def confirm(question: str, what: str, hint: str = "Pass --yes", lines: Iterable[str] = ()) -> bool:
    """Whether a person agrees to `what`, having seen the lines. Raises: Refused where there is nobody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refused("needs-yes", f"{what} needs a yes, and there is no terminal to ask on", hint=hint)
    for line in lines:
        say(line)
    return click.confirm(one_line(question), err=True)


@contextmanager
def stopped_before(what: str, is_begun: Callable[[], bool]) -> Iterator[None]:
    """Somebody who stops a command is told that nothing was `what`; or, if it was begun by then, what becomes of it.

    Raises: click.Abort.
    """
    try:
        yield
    except (KeyboardInterrupt, click.Abort) as error:
        begun = "It was begun, and the next command of weft finishes it"
        raise click.Abort(begun if is_begun() else f"Nothing was {what}") from error
