"""Options that several commands share, and the app they open."""

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click
from msgspec import Struct

from clawft.app.app import App, open_app
from clawft.cli.completion import complete_agents, complete_folders, complete_models, complete_sessions
from clawft.cli.output import CommandResult, print_result, scan_progress, show_diagnostic
from clawft.errors import ClawftError, Refused
from clawft.skills.discovery import SCOPES

F = TypeVar("F", bound=Callable[..., Any])


def format_option(function: Callable[..., CommandResult | int]) -> Callable[..., int]:
    """Print the result of a command as `--format` asks; an exit code alone prints nothing."""

    @wraps(function)
    def run(*arguments: Any, output: str, **values: Any) -> int:
        result = function(*arguments, **values)
        return print_result(result, output) if isinstance(result, CommandResult) else result

    choice = click.Choice(["table", "json"])
    return click.option("--format", "output", type=choice, default="table", show_default=True, help="How to print.")(
        run
    )


def dir_option(function: F) -> F:
    text = "Search only this folder (repeatable). It may be a skill or a folder of skills."
    return click.option("--dir", "dirs", multiple=True, metavar="PATH", help=text, shell_complete=complete_folders)(
        function
    )


def scope_option(function: F) -> F:
    choice = click.Choice([*(scope for scope in SCOPES if scope != "dir"), "all"])
    return click.option("--scope", type=choice, default="all", show_default=True, help="Only what belongs there.")(
        function
    )


def target_option(function: F) -> F:
    choice = click.Choice(["user", "project"])
    text = "Whose config file to change."
    return click.option("--scope", type=choice, default="user", show_default=True, help=text)(function)


def check_queue(_context: click.Context, _option: click.Parameter, value: Any) -> Any:
    """A name of a queue, or several, as it was typed."""
    from clawft.config.jobs import is_queue

    if not all(is_queue(queue) for queue in ([value] if isinstance(value, str) else value) if queue):
        raise click.UsageError("--queue needs a name of small letters and digits")
    return value


MODE_HELP = (
    "What runs without a question. plan and ask: what only reads; auto-edit: edits, and commands in the sandbox; full: "
    "all but what a rule denies. In plan nothing else is done; the others ask."
)


class TurnOptions(Struct, frozen=True):
    """Options for running a turn from the command line."""

    agent: str = ""
    model: str = ""
    session: str = ""
    mode: str = ""
    yes: bool = False
    output: str = "text"
    trust_project_skills: bool = False
    background: bool = False
    queue: str = ""


def turn_options(function: F) -> F:
    """The options of every command that runs a turn."""
    options = [
        click.option(
            "--agent", "-a", metavar="NAME", default="", help="Which agent answers.", shell_complete=complete_agents
        ),
        click.option(
            "--model", metavar="PROVIDER/MODEL", default="", help="Which model answers.", shell_complete=complete_models
        ),
        click.option(
            "--session",
            "-s",
            metavar="KEY",
            default="",
            help="Continue this session, or start it.",
            shell_complete=complete_sessions,
        ),
        click.option(
            "--mode",
            type=click.Choice(["plan", "ask", "auto-edit", "full"]),
            callback=lambda _context, _option, mode: mode or "",
            help=MODE_HELP,
        ),
        click.option("--yes", "-y", is_flag=True, help="Allow what tools ask for; what a policy forbids stays so."),
        click.option(
            "--trust-project-skills",
            is_flag=True,
            help="Use the project's skills and agents as they are now, in this run only.",
        ),
        click.option(
            "--background",
            is_flag=True,
            help="Start it as a run of its own, and come back at once. See: weft runs.",
        ),
        click.option(
            "--queue",
            metavar="NAME",
            default="",
            callback=check_queue,
            help="Which workers do it, with --background.",
        ),
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


def open_here(dirs: tuple[str, ...] = ()) -> App:
    """The app for this process's environment and current folder. Raises: ClawftError when a folder is not there."""
    try:
        cwd = os.getcwd()
    except FileNotFoundError as error:
        raise ClawftError("no-folder", "The current folder is gone", hint="Change to one that exists") from error
    if "" in dirs:
        raise click.UsageError("--dir needs a folder")
    app = open_app(os.environ, cwd, dirs)
    app.tell_scan = scan_progress()
    for location in app.locations if dirs else ():
        if not os.path.isdir(location.path):
            raise ClawftError("no-folder", "There is no such folder", path=location.path, hint="Check --dir")
    return app


def finish_installation(app: App, *, change: bool = True) -> None:
    """End an installation that was broken off, and say what could not be done. Raises: ClawftError; with `change` also
    `install-unfinished`, since nothing new is begun before it is over."""
    if not app.workspace.has_unfinished_install():
        return
    from clawft.app.install import finish_interrupted  # nearly always nothing was broken off

    try:
        diagnostics = finish_interrupted(app)
    except ClawftError as error:
        if change:
            raise
        diagnostics = (error.diagnostic,)
    for diagnostic in diagnostics:
        if change and diagnostic.code == "install-unfinished":
            raise Refused(diagnostic.code, diagnostic.message, path=diagnostic.path, hint=diagnostic.hint)
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.path))
