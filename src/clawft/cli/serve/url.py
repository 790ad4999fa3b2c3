"""`weft serve url`."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json
from clawft.cli.serve._open import console_url, need_place, token_for

__all__ = ["command"]


@click.command("url")
@click.option("--port", type=click.IntRange(1, 65_535), help="Of the daemon on this port, where several run.")
@format_option
def command(port: int | None, output: str) -> None:
    """Print where the console of the daemon that runs is, with your token in it: for your own browser alone.

    Of several it is the one that serves this project.
    """
    app = open_here()
    place = need_place(app, port)
    url = console_url(place.url, token_for(app, place))
    if output == "json":
        return print_json("clawft.serve.url.v1", url=url, local=place.local, pid=place.pid)
    return click.echo(url)
