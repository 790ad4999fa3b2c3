"""One turn from the command line: its options, and the exit code it ends with."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import click
from msgspec import Struct

from clawft.app import App
from clawft.cli.events import Approver, JsonLines, Printer, show_events
from clawft.cli.output import say
from clawft.messages import Event, TurnFailed
from clawft.run import TurnRequest

__all__ = ["TurnOptions", "run_turn_here", "turn_options"]

F = TypeVar("F", bound=Callable[..., Any])


class TurnOptions(Struct, frozen=True):
    """How a turn is run from the command line."""

    agent: str = ""
    model: str = ""
    session: str = ""
    yes: bool = False
    output: str = "text"


def turn_options(function: F) -> F:
    """The options of every command that runs a turn."""
    options = [
        click.option("--agent", "-a", metavar="NAME", default="", help="Which agent answers."),
        click.option("--model", metavar="PROVIDER/MODEL", default="", help="Which model answers."),
        click.option("--session", "-s", metavar="KEY", default="", help="Continue this session, or start it."),
        click.option("--yes", "-y", is_flag=True, help="Allow what tools ask for; what a policy forbids stays so."),
        click.option(
            "--format",
            "output",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="json: one event per line.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def run_turn_here(app: App, options: TurnOptions, request: TurnRequest, *, only: str = "") -> int:
    """Run a turn and show it; the exit code of the command. `only` is the one skill there is. Raises: ClawftError."""
    approver = Approver(yes=options.yes)
    last = anyio.run(partial(_run, app, options, request, approver, only))
    if isinstance(last, TurnFailed):
        return last.exit_code
    if approver.unanswered:
        return 3
    return 0


async def _run(app: App, options: TurnOptions, request: TurnRequest, approver: Approver, only: str) -> Event | None:
    agent = app.choose_agent(options.agent)
    printer = JsonLines() if options.output == "json" else Printer()
    async with (
        app.open_runtime(only) as runtime,
        runtime.open_conversation(agent, key=options.session, approve=approver) as conversation,
    ):
        last = await show_events(conversation.run(request), printer, approver)
        if options.output == "text" and not options.session:
            say(f"session: {conversation.session.key}")
    return last
