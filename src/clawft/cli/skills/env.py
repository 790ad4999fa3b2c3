"""`weft skills env NAME [VARIABLE]`: what a skill gets of secrets and settings, and giving it one."""

import sys
from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.cli.skills._variables import (
    Stored,
    Variable,
    command_for,
    list_variables,
    refer_to,
    remove_variable,
    store_variable,
)
from clawft.errors import NotFound, Refused
from clawft.trust import Standing

__all__ = ["command"]

MAX_INPUT = 100_000  # characters from standard input


class _Options(Struct, frozen=True):
    """What else was asked for."""

    origin: str
    remove: bool
    output: str
    dirs: tuple[str, ...]


@click.command("env")
@click.argument("name", shell_complete=complete_skills)
@click.argument("variable", required=False)
@click.argument("source", required=False, metavar="[-]")
@click.option("--from", "origin", default="", metavar="VAR", help="Take it from this variable of the environment.")
@click.option("--remove", is_flag=True, help="Take the variable from the skill, and forget what was stored.")
@format_option
@dir_option
def command(name: str, variable: str | None, source: str | None, **given: Any) -> int:
    """List the variables that a skill asks for and has; or give it one.

    The value of VARIABLE is asked for without showing it, or read from standard input with -. It is stored as a key
    of yours; the config refers to it, and only programs of this skill get it. No value is ever shown.
    """
    options = _Options(**given)
    if source not in (None, "-"):
        raise click.UsageError("A value here would stay in the history of the shell. It is asked for, or read with: -")
    if not variable and (options.remove or options.origin):
        raise click.UsageError("Say which variable")
    app = open_here(options.dirs)
    standing = app.get_skill(name)
    if not variable:
        return _list(app, standing, options.output)
    if options.remove:
        return _remove(app, standing, variable, options.output)
    if options.origin:
        stored = refer_to(app, standing, variable, options.origin)
    else:
        stored = store_variable(app, standing, variable, _read(standing, variable, from_input=source == "-"))
    return _tell(app.reopen(), name, variable, stored, options.output)


def _list(app: App, standing: Standing, output: str) -> int:
    found = list_variables(app, standing)
    if output == "json":
        print_json("clawft.skills.env.v1", skill=standing.name, variables=[_to_json(one) for one in found])
        return 0
    if not found:
        say(one_line(f"{standing.name} asks for no variables, and has none"))
        return 0
    rows = [(one.name, "required" if one.required else "optional", _describe(one)) for one in found]
    print_table(("VARIABLE", "", "VALUE"), rows, wide=2)
    for one in found:
        if one.missing and (one.required or one.primary):
            say(one_line(f"To set it: {command_for(standing, one.name)}"))
        elif not one.given:
            say(one_line(f"To pass it on: {command_for(standing, one.name)} --from {one.name}"))
    return 0


def _describe(one: Variable) -> str:
    if not one.given:
        return "in your environment, but not passed on" if one.elsewhere else "missing"
    assert one.value is not None
    if one.value.keystore:
        return f"stored as {one.value}"
    return f"from {one.value}" if one.value.env else "in the config"


def _to_json(one: Variable) -> dict[str, Any]:
    value = one.value
    source = ("keystore" if value.keystore else "env" if value.env else "text") if value is not None else None
    return {
        "name": one.name,
        "required": one.required,
        "primary": one.primary,
        "given": one.given,
        "source": source,
        "reference": str(value) if value is not None and value.is_reference else None,
        "in_environment": one.elsewhere,
    }


def _read(standing: Standing, variable: str, *, from_input: bool) -> str:
    """The value, from a person or from standard input. Raises: Refused where there is neither."""
    if from_input:
        text = sys.stdin.read(MAX_INPUT).strip()
        if not text:
            raise Refused("key-empty", "There is nothing on standard input", hint="Nothing was stored")
        return text
    from clawft.cli.onboard.ask import Asker

    if sys.stdin is None or not sys.stdin.isatty():
        message = f"The value of {variable} is asked for, and there is no terminal to ask on"
        raise Refused("no-terminal", message, hint=f"Run: {command_for(standing, variable)} - < FILE")
    text = Asker(yes=False).ask_secret(one_line(f"{variable} for {standing.name} (it is not shown)"))
    if not text:
        raise Refused("key-empty", "Nothing was typed", hint="Nothing was stored")
    return text


def _tell(now: App, name: str, variable: str, stored: Stored, output: str) -> int:
    standing = now.get_skill(name)
    if output == "json":
        path, place = stored.config.file, stored.place
        print_json("clawft.skills.env.v1", skill=standing.name, variable=variable, stored=place, path=path)
        return 0
    places = {"keyring": "Stored in the system's keyring", "file": "Stored in your file of keys"}
    where = places[stored.place] if stored.place else "It is taken from your environment"
    click.echo(one_line(f"{where}. Only programs of {standing.name} get {variable}"))
    unnamed = variable not in {one.name for one in list_variables(now, standing) if one.required or one.primary}
    if unnamed and now.strangers.is_strange(standing.found):
        say(f"note: the skill does not ask for {variable}; a stranger's skill gets only what it asks for")
    say(one_line(f"{standing.name} is {standing.state}"))
    return 0


def _remove(app: App, standing: Standing, variable: str, output: str) -> int:
    if not remove_variable(app, standing, variable):
        message = f"The skill '{standing.name}' has no variable '{variable[:100]}' of yours"
        raise NotFound("variable-not-found", message, hint=f"Run: weft skills env {standing.name}")
    if output == "json":
        print_json("clawft.skills.env.v1", skill=standing.name, removed=variable)
    else:
        click.echo(one_line(f"{standing.name} does not get {variable} any more"))
    return 0
