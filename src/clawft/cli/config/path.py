"""`weft config path`: the files that settings are read from."""

import os

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json
from clawft.config import config_files

__all__ = ["command"]


@click.command("path")
@format_option
def command(output: str) -> None:
    """Print the files that settings are read from; later ones win."""
    workspace = open_here().workspace
    files = [(path, os.path.exists(path)) for path in config_files(workspace)]
    if output == "json":
        return print_json("clawft.config.path.v1", files=[{"path": path, "exists": exists} for path, exists in files])
    for path, exists in files:
        click.echo(one_line(path if exists else f"{path} (not there)"))
    return None
