"""Options that commands share which change what is installed."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from clawft.supply.targets import CLIENTS

__all__ = ["allow_options", "scope_choice", "to_option"]

F = TypeVar("F", bound=Callable[..., Any])


def scope_choice(function: F) -> F:
    choice = click.Choice(["user", "project"])
    text = "For you, or for this project."
    return click.option("--scope", type=choice, default="user", show_default=True, help=text)(function)


def to_option(function: F) -> F:
    choice = click.Choice([*CLIENTS, "all"])
    text = "Whose folders of skills (repeatable)."
    return click.option("--to", multiple=True, type=choice, default=("clawft",), show_default=True, help=text)(function)


def allow_options(function: F) -> F:
    text = "A rule of the scanner that may object in vain, for 90 days (repeatable)."
    because = click.option("--because", default="", metavar="TEXT", callback=_check_reason, help="Why, with --allow.")
    return click.option("--allow", "rules", multiple=True, metavar="RULE", help=text)(because(function))


def _check_reason(context: click.Context, _option: click.Parameter, given: str) -> str:
    if context.params.get("rules") and not given.strip():
        raise click.UsageError('Say why: --because "…"')
    return given
