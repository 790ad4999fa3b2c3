"""`weft sessions remove KEY…`: delete conversations, after asking."""

import os
from collections.abc import Iterable
from shutil import rmtree

import click

from clawft.cli._complete import complete_sessions
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option
from clawft.cli.output import one_line, print_json, say
from clawft.cli.sessions._store import open_store, show_all
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic
from clawft.sessions import SessionStore, SessionSummary, encode_key

__all__ = ["command"]


@click.command("remove")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=complete_sessions)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(keys: tuple[str, ...], yes: bool, output: str) -> int:
    """Remove conversations for good, with the output that was saved for them. Each KEY must be whole.

    What the agent noted in its memory stays: weft memory show
    """
    app, store = open_store()
    wanted = [store.get(key) for key in dict.fromkeys(keys)]
    agreed = yes or _ask(wanted)
    removed, problems = _remove(store, wanted if agreed else ())
    for key in removed:
        rmtree(os.path.join(app.workspace.user_dir, "output", encode_key(key)), ignore_errors=True)
    if output == "json":
        said = [to_json(one) for one in (*store.diagnostics, *problems)]
        print_json("clawft.sessions.remove.v1", removed=removed, diagnostics=said)
    else:
        show_all(app, (*store.diagnostics, *problems))
        say(f"Removed: {one_line(', '.join(removed))}" if removed else "Nothing was removed")
    return 0 if agreed and not problems else 1


def _ask(sessions: list[SessionSummary]) -> bool:
    """Whether a person agrees. Raises: Refused where there is nobody to ask."""
    lines = [
        f"{one_line(one.key)}: {one.turns} turn{'s' * (one.turns != 1)}, {one_line(one.title) or 'no title'}"
        for one in sessions
    ]
    return confirm(f"Remove {'it' if len(sessions) == 1 else 'them'} for good?", "Removing sessions", lines=lines)


def _remove(store: SessionStore, sessions: Iterable[SessionSummary]) -> tuple[list[str], list[Diagnostic]]:
    removed: list[str] = []
    problems: list[Diagnostic] = []
    for one in sessions:
        try:
            store.remove(one.key)
            removed.append(one.key)
        except ClawftError as error:
            problems.append(error.diagnostic)
    return removed, problems
