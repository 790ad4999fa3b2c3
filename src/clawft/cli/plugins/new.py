"""`weft plugins new NAME`: the beginning of a plugin, with tests that pass."""

import os
import shutil
from typing import cast

import click

from clawft.cli._complete import complete_folders
from clawft.cli.options import format_option
from clawft.cli.output import one_line, print_json, say
from clawft.discovery.plugins import load_plugin
from clawft.plugins.scaffold import KINDS, Kind, make_plugin
from clawft.trust.plugin_review import broken

__all__ = ["command"]


@click.command("new")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), default="tool", show_default=True, help="What it brings.")
@click.option("--id", "plugin_id", default="", metavar="ID", help="Its id, as com.example.NAME; else local.NAME.")
@click.option(
    "--dir", "parent", default=".", metavar="PATH", help="Where its folder is made.", shell_complete=complete_folders
)
@format_option
def command(name: str, kind: str, plugin_id: str, parent: str, output: str) -> None:
    """Begin a plugin: a folder NAME with a manifest, code that works, and tests that pass."""
    folder = os.path.join(os.path.abspath(os.path.expanduser(parent)), name)
    files = make_plugin(name, cast(Kind, kind), plugin_id or f"local.{name}", folder)
    found = load_plugin("user", folder)
    if found.manifest is None:  # an id that no manifest may have
        shutil.rmtree(folder)
        raise broken(found)
    if output == "json":
        return print_json("clawft.plugins.new.v1", id=found.id, kind=kind, path=folder, files=files)
    for path in files:
        click.echo(one_line(os.path.relpath(path)))
    shown = one_line(os.path.relpath(folder))
    say(f"Next: cd {shown} && pytest")
    say(f"Then: weft plugins install . && weft plugins enable {found.id}")
    return None
