"""`weft publishers export`: the keys you trust, for `ssh-keygen -Y verify`."""

from datetime import UTC, datetime

import click
from msgspec import structs

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say
from clawft.cli.publishers._given import complete_publishers, load
from clawft.signing.check import judge_key
from clawft.signing.publishers import PublisherKey, Publishers, render_signers
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
    text = render_signers(_without_fallen(publishers), names)
    if output == "json":
        return print_json("clawft.publishers.export.v1", allowed_signers=text.splitlines())
    if not text:
        say("There is no key to export")
    click.echo(text, nl=False)
    return None


def _without_fallen(publishers: Publishers) -> Publishers:
    """Without keys that were trusted on the word of one that counts no more. When a key counts is said there too."""

    def stands(key: PublisherKey) -> bool:
        always = structs.replace(key, since=None, until=None)
        return judge_key(always, publishers, datetime.now(UTC))[0] == "good"

    left = {
        name: structs.replace(one, key=tuple(filter(stands, one.key))) for name, one in publishers.publisher.items()
    }
    return structs.replace(publishers, publisher=left)
