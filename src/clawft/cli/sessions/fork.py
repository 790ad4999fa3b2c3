"""`weft sessions fork KEY NEW`: try another way from the same past."""

import click

from clawft.cli._complete import complete_sessions
from clawft.cli.options import format_option
from clawft.cli.output import one_line, print_json
from clawft.cli.sessions._store import open_store, show_all
from clawft.describe.diagnostics import to_json

__all__ = ["command"]


@click.command("fork")
@click.argument("key", shell_complete=complete_sessions)
@click.argument("new")
@click.option("--turns", type=click.IntRange(min=1), metavar="N", help="Copy the first N turns only.")
@format_option
def command(key: str, new: str, turns: int | None, output: str) -> None:
    """Copy a conversation to the key NEW, to go on from there in another way. KEY stays as it is."""
    app, store = open_store()
    name = store.resolve(key)
    store.fork(name, new, turns)
    made = store.get(new)
    if output == "json":
        said = [to_json(one) for one in store.diagnostics]
        return print_json(
            "clawft.sessions.fork.v1", key=new, forked_from=name, turns=made.turns, path=made.path, diagnostics=said
        )
    show_all(app, store.diagnostics)
    copied = f"{made.turns} turn{'s' * (made.turns != 1)}"
    return click.echo(one_line(f"Copied {copied} of {name} to {new}. Go on with: weft agent --session {new}"))
