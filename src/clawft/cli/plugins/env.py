"""`weft plugins env ID [VARIABLE]`: the variables that a plugin asks for, where each comes from, and giving it one."""

from collections.abc import Iterator
from typing import Any

import click

from clawft.app.app import App
from clawft.app.plugins import find_plugin, load_plugin_statuses
from clawft.cli.completion import complete_plugins, completes, open_app_for
from clawft.cli.config_entries import (
    StoredVariable,
    check_source,
    print_stored,
    read_value,
    remove_value,
    render_value_source,
    set_variable_reference,
    store_value,
)
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.plugins.settings import PluginVariable, grant_hint, list_variables, load_as_enabled, make_plugin_owner
from clawft.errors import ClawftError
from clawft.plugins.settings import is_reserved_variable
from clawft.trust.plugin_review import make_broken_error
from clawft.trust.plugins import PluginStatus

_SCHEMA = "clawft.plugins.env.v1"


@completes
def complete_plugin_variables(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Those that the plugin on the same line asks for."""
    statuses = load_plugin_statuses(open_app_for(ctx), by_digest=False)
    manifest = find_plugin(statuses, str(ctx.params.get("plugin_id") or "")).found.manifest
    yield from ((name, "") for name in (manifest.permissions.env_vars if manifest else ()))


@click.command("env")
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
@click.argument("variable", required=False, shell_complete=complete_plugin_variables)
@click.argument("source", required=False, metavar="[-]")
@click.option("--from", "origin", default="", metavar="VAR", help="Take it from this variable of the environment.")
@click.option("--remove", is_flag=True, help="Take the variable from the plugin, and forget what was stored.")
@format_option
def command(plugin_id: str, variable: str | None, source: str | None, origin: str, remove: bool) -> CommandResult:
    """List the variables that a plugin asks for, and where each comes from; or give it one.

    The value of VARIABLE is asked for without showing it, or read from standard input with -. It is stored as a key
    of yours; the config refers to it, and only this plugin gets it, if it was granted it. No value is ever shown.
    """
    check_source(source)
    if not variable and (remove or origin):
        raise click.UsageError("Say which variable")
    app = open_here()
    status = _find(app, plugin_id)
    if not variable:
        return _list(app, status)
    owner = make_plugin_owner(status)
    if remove:
        remove_value(app, owner, variable)
        return CommandResult(
            _SCHEMA,
            {"plugin": status.id, "removed": variable},
            one_line(f"{status.id} does not get {variable} from your config any more"),
        )
    _check(status, variable)
    if origin:
        stored = set_variable_reference(app, owner, variable, origin)
    else:
        stored = store_value(app, owner, variable, read_value(owner, variable, from_input=source == "-"))
    return _tell(app, status, variable, stored)


def _find(app: App, plugin_id: str) -> PluginStatus:
    """The plugin, with what it was granted also while it is turned off. Raises: ClawftError."""
    (status,) = load_as_enabled(app, [find_plugin(load_plugin_statuses(app), plugin_id)])
    if status.found.manifest is None:
        raise make_broken_error(status.found)
    return status


def _check(status: PluginStatus, variable: str) -> None:
    """Raises: ClawftError for a variable that the plugin would not be given."""
    asked = status.found.manifest.permissions.env_vars if status.found.manifest else ()
    if variable not in asked:
        message = f"The plugin '{status.id}' does not ask for the variable '{variable[:100]}'"
        hint = f"It asks for: {', '.join(asked)}" if asked else "It asks for none"
        raise ClawftError("plugin-not-asked", message, path=status.found.file, hint=hint)
    if is_reserved_variable(variable):
        message = f"{variable} would steer Python or the loader of programs, and is passed on to no plugin"
        raise ClawftError("variable-name", message, path=status.found.file)


def _list(app: App, status: PluginStatus) -> CommandResult:
    found = list_variables(app, status)

    def show() -> None:
        if not found:
            return say(one_line(f"{status.id} asks for no variables, and has none"))
        rows = [(variable.name, _say_granted(variable), _describe(variable)) for variable in found]
        print_table(("VARIABLE", "", "VALUE"), rows, wide=2)
        for variable in found:
            if not variable.asked:
                say(one_line(f"To take it away: {make_plugin_owner(status).command(variable.name)} --remove"))
            elif variable.steers:
                continue
            elif variable.source is None:
                say(one_line(f"To set it: {make_plugin_owner(status).command(variable.name)}"))
            elif not variable.granted:
                say(one_line(f"To grant it: {grant_hint(status, variable.name)}"))
        return None

    return CommandResult(_SCHEMA, {"plugin": status.id, "variables": [_to_json(each) for each in found]}, show)


def _say_granted(one: PluginVariable) -> str:
    return "not asked for" if not one.asked else "granted" if one.granted else "not granted"


def _describe(one: PluginVariable) -> str:
    if one.steers:
        return "never passed on: it would steer Python or the loader"
    if one.value is None:
        return "from your environment" if one.source else "missing"
    return render_value_source(one.value) if one.source else f"missing: {str(one.value) or 'it'} is not set"


def _to_json(one: PluginVariable) -> dict[str, Any]:
    return {
        "name": one.name,
        "asked": one.asked,
        "granted": one.granted,
        "given": one.granted and one.source is not None and not one.steers,
        "source": one.source,
        "reference": str(one.value) if one.value is not None and one.value.is_reference else None,
    }


def _tell(app: App, status: PluginStatus, variable: str, stored: StoredVariable) -> CommandResult:
    path, place = stored.config.file, stored.place

    def show() -> None:
        click.echo(one_line(f"{print_stored(stored)}. Only {status.id} gets {variable}"))
        if variable not in status.permissions.env_vars:
            say(one_line(f"It was not granted it yet. Run: {grant_hint(status, variable)}"))
        say(one_line(f"Written to {app.workspace.shorten(stored.config.file)}"))

    return CommandResult(_SCHEMA, {"plugin": status.id, "variable": variable, "stored": place, "path": path}, show)
