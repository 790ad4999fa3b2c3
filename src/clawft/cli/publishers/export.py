"""`weft publishers export`: the keys you trust, for `ssh-keygen -Y verify`."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say
from clawft.cli.publishers._given import complete_publishers, load
from clawft.signing.publishers import render_signers
from clawft.signing.trusting import get_publisher

__all__ = ["command"]


@click.command("export")
@click.argument("names", nargs=-1, shell_complete=complete_publishers)
@format_option
def command(names: tuple[str, ...], output: str) -> None:
    """Print the keys of publishers as OpenSSH's allowed signers; all of them without NAMES. Revoked ones are left out.

    What this prints, saved as a file, makes `ssh-keygen -Y verify -f FILE -I NAME -n clawft-skill` know them. Which
    skills they may sign is not said there.
    """
    publishers = load(open_here())
    for name in names:
        get_publisher(publishers, name)
    text = render_signers(publishers, names)
    if output == "json":
        return print_json("clawft.publishers.export.v1", allowed_signers=text.splitlines())
    if not text:
        say("There is no key to export")
    click.echo(text, nl=False)
    return None
