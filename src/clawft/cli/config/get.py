"""`weft config get KEY`: one value, alone on stdout."""

import click

from clawft.cli._complete import complete_keys
from clawft.cli.config._text import value_text
from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, print_json
from clawft.config import join_path
from clawft.config.listing import find_values, get_path, list_settings

__all__ = ["command"]


@click.command("get")
@click.argument("key", shell_complete=complete_keys)
@format_option
def command(key: str, output: str) -> None:
    """Print the value of KEY, such as agents.defaults.model: what is set, else the default. A table prints as JSON.

    A secret prints as the name of its variable only. A name with a dot in it stands in double quotes:
    'providers.x.models."a-4.1".context_window'
    """
    app = open_here()
    path = get_path(key)
    value = find_values(list_settings(app.config, app.environ, app.plugin_schemas, defaults=True), path)
    if output == "json":
        return print_json("clawft.config.get.v1", key=join_path(path), value=value)
    click.echo("" if value is None else clean(value_text(value)))
    return None
