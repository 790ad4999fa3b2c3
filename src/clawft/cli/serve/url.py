"""`weft serve url`."""

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json
from clawft.cli.serve._open import console_url, need_place, own_token, settings_here

__all__ = ["command"]


@click.command("url")
@format_option
def command(output: str) -> None:
    """Print where the console of the daemon that runs is, with your token in it: for your own browser alone."""
    app = open_here()
    place = need_place(app)
    url = console_url(place.url, own_token(app, settings_here(app)))
    if output == "json":
        return print_json("clawft.serve.url.v1", url=url, local=place.local, pid=place.pid)
    return click.echo(url)
