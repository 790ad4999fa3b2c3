"""`weft plugins env ID [VARIABLE]`: the variables that a plugin asks for, where each comes from, and giving it one."""

from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_plugin_variables, complete_plugins
from clawft.cli._supply import (
    Stored,
    check_source,
    describe_value,
    read_value,
    refer_to,
    remove_value,
    say_stored,
    store_value,
)
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.cli.plugins._entries import judge_enabled
from clawft.cli.plugins._variables import Variable, find_owner, grant_hint, list_variables
from clawft.errors import ClawftError
from clawft.plugging import find_plugin, load_plugin_standings
from clawft.plugins.given import is_steering
from clawft.trust.plugin_review import broken
from clawft.trust.plugins import PluginStanding

__all__ = ["command"]

_SCHEMA = "clawft.plugins.env.v1"


class _Options(Struct, frozen=True):
    """What else was asked for."""

    origin: str
    remove: bool
    output: str


@click.command("env")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@click.argument("variable", required=False, shell_complete=complete_plugin_variables)
@click.argument("source", required=False, metavar="[-]")
@click.option("--from", "origin", default="", metavar="VAR", help="Take it from this variable of the environment.")
@click.option("--remove", is_flag=True, help="Take the variable from the plugin, and forget what was stored.")
@format_option
def command(plugin_id: str, variable: str | None, source: str | None, **given: Any) -> int:
    """List the variables that a plugin asks for, and where each comes from; or give it one.

    The value of VARIABLE is asked for without showing it, or read from standard input with -. It is stored as a key
    of yours; the config refers to it, and only this plugin gets it, if it was granted it. No value is ever shown.
    """
    options = _Options(**given)
    check_source(source)
    if not variable and (options.remove or options.origin):
        raise click.UsageError("Say which variable")
    app = open_here()
    standing = _find(app, plugin_id)
    if not variable:
        return _list(app, standing, options.output)
    owner = find_owner(standing)
    if options.remove:
        remove_value(app, owner, variable)
        return _tell_removed(standing, variable, options.output)
    _check(standing, variable)
    if options.origin:
        stored = refer_to(app, owner, variable, options.origin)
    else:
        stored = store_value(app, owner, variable, read_value(owner, variable, from_input=source == "-"))
    return _tell(app, standing, variable, stored, options.output)


def _find(app: App, plugin_id: str) -> PluginStanding:
    """The plugin, with what it was granted also while it is turned off. Raises: ClawftError."""
    (standing,) = judge_enabled(app, [find_plugin(load_plugin_standings(app), plugin_id)])
    if standing.found.manifest is None:
        raise broken(standing.found)
    return standing


def _check(standing: PluginStanding, variable: str) -> None:
    """Raises: ClawftError for a variable that the plugin would not be given."""
    asked = standing.found.manifest.permissions.env_vars if standing.found.manifest else ()
    if variable not in asked:
        message = f"The plugin '{standing.id}' does not ask for the variable '{variable[:100]}'"
        hint = f"It asks for: {', '.join(asked)}" if asked else "It asks for none"
        raise ClawftError("plugin-not-asked", message, path=standing.found.file, hint=hint)
    if is_steering(variable):
        message = f"{variable} would steer Python or the loader of programs, and is passed on to no plugin"
        raise ClawftError("variable-name", message, path=standing.found.file)


def _list(app: App, standing: PluginStanding, output: str) -> int:
    found = list_variables(app, standing)
    if output == "json":
        print_json(_SCHEMA, plugin=standing.id, variables=[_to_json(one) for one in found])
        return 0
    if not found:
        say(one_line(f"{standing.id} asks for no variables, and has none"))
        return 0
    rows = [(one.name, _say_granted(one), _describe(one)) for one in found]
    print_table(("VARIABLE", "", "VALUE"), rows, wide=2)
    for one in found:
        if not one.asked:
            say(one_line(f"To take it away: {find_owner(standing).command(one.name)} --remove"))
        elif one.steers:
            continue
        elif one.source is None:
            say(one_line(f"To set it: {find_owner(standing).command(one.name)}"))
        elif not one.granted:
            say(one_line(f"To grant it: {grant_hint(standing, one.name)}"))
    return 0


def _say_granted(one: Variable) -> str:
    return "not asked for" if not one.asked else "granted" if one.granted else "not granted"


def _describe(one: Variable) -> str:
    if one.steers:
        return "never passed on: it would steer Python or the loader"
    if one.value is None:
        return "from your environment" if one.source else "missing"
    return describe_value(one.value) if one.source else f"missing: {str(one.value) or 'it'} is not set"


def _to_json(one: Variable) -> dict[str, Any]:
    return {
        "name": one.name,
        "asked": one.asked,
        "granted": one.granted,
        "given": one.granted and one.source is not None and not one.steers,
        "source": one.source,
        "reference": str(one.value) if one.value is not None and one.value.is_reference else None,
    }


def _tell(app: App, standing: PluginStanding, variable: str, stored: Stored, output: str) -> int:
    if output == "json":
        path, place = stored.config.file, stored.place
        print_json(_SCHEMA, plugin=standing.id, variable=variable, stored=place, path=path)
        return 0
    click.echo(one_line(f"{say_stored(stored)}. Only {standing.id} gets {variable}"))
    if variable not in standing.permissions.env_vars:
        say(one_line(f"It was not granted it yet. Run: {grant_hint(standing, variable)}"))
    say(one_line(f"Written to {app.workspace.shorten(stored.config.file)}"))
    return 0


def _tell_removed(standing: PluginStanding, variable: str, output: str) -> int:
    if output == "json":
        print_json(_SCHEMA, plugin=standing.id, removed=variable)
    else:
        click.echo(one_line(f"{standing.id} does not get {variable} from your config any more"))
    return 0
