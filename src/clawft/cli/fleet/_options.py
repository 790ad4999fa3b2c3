"""The options of the commands that start a fleet, or go on with one."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import Struct

from clawft.cli.options import check_queue

__all__ = ["FeedOptions", "feed_options"]

F = TypeVar("F", bound=Callable[..., Any])
AHEAD = 500


class FeedOptions(Struct, frozen=True):
    """How a fleet is fed, and where its results go."""

    output: str = ""
    ahead: int = AHEAD
    queue: str = ""
    resume: str = ""
    retry: str = ""
    workers: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether it is about a fleet that was started before."""
        return bool(self.resume or self.retry)

    def check_alone(self, others: bool) -> None:
        """Raises: click.UsageError if something is asked for that such a fleet cannot change."""
        if others or self.queue or (self.resume and self.retry):
            raise click.UsageError("A fleet goes on as it was started: give only --output, --ahead and --workers")


def feed_options(function: F) -> F:
    text = "Write the results there; without it they are printed. A new fleet overwrites the file."
    options = [
        click.option("--output", "-o", metavar="FILE", default="", type=click.Path(dir_okay=False), help=text),
        click.option("--queue", metavar="NAME", default="", callback=check_queue, help="Which workers do it."),
        click.option(
            "--ahead",
            type=click.IntRange(1, 100_000),
            default=AHEAD,
            show_default=True,
            metavar="N",
            help="Never more runs than that are queued or under way.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 256),
            metavar="N",
            callback=lambda _context, _option, number: number or 0,
            help="See that so many workers do it here; they end when nothing is left.",
        ),
        click.option("--resume", metavar="FLEET", default="", help="Go on with a fleet that was left."),
        click.option("--retry", metavar="FLEET", default="", help="Go on with one, and try again what failed."),
    ]
    for option in reversed(options):
        function = option(function)
    return function
