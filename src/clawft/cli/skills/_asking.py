"""Variables that a skill needs, asked for before it runs (R174)."""

import sys

from clawft.app import App
from clawft.cli.output import one_line, say
from clawft.cli.skills._variables import find_missing, find_owner, store_variable
from clawft.trust import Standing

__all__ = ["ask_missing"]


def ask_missing(app: App, standing: Standing, *, ask: bool) -> bool:
    """Ask for each that nobody set, where somebody can answer; else say how to set it. Whether one was stored.

    Raises: ClawftError; click.Abort.
    """
    missing = find_missing(app, standing)
    if not missing:
        return False
    if not ask or any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stderr)):
        for one in missing:
            if not one.required:  # the turn itself warns of those
                say(
                    one_line(f"{standing.name} asks for {one.name}. Run: {find_owner(app, standing).command(one.name)}")
                )
        return False
    from clawft.cli.onboard.ask import Asker

    stored = False
    for one in missing:
        secret = Asker(yes=False).ask_secret(one_line(f"{standing.name} needs {one.name} (not shown; Enter skips)"))
        if secret:
            store_variable(app, standing, one.name, secret)
            say(one_line(f"Stored. Only programs of {standing.name} get {one.name}"))
            stored = True
    return stored
