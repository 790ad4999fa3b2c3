"""`weft skills env NAME [VARIABLE]`: what a skill gets of secrets and settings, and giving it one."""

from typing import Any

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_skills
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
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.cli.skills._variables import Variable, find_owner, list_variables
from clawft.trust import Standing

__all__ = ["command"]


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
    check_source(source)
    if not variable and (options.remove or options.origin):
        raise click.UsageError("Say which variable")
    app = open_here(options.dirs)
    standing = app.get_skill(name)
    if not variable:
        return _list(app, standing, options.output)
    if options.remove:
        return _remove(app, standing, variable, options.output)
    owner = find_owner(app, standing)
    if options.origin:
        stored = refer_to(app, owner, variable, options.origin)
    else:
        stored = store_value(app, owner, variable, read_value(owner, variable, from_input=source == "-"))
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
    owner = find_owner(app, standing)
    for one in found:
        if one.missing and (one.required or one.primary):
            say(one_line(f"To set it: {owner.command(one.name)}"))
        elif not one.given:
            say(one_line(f"To pass it on: {owner.command(one.name)} --from {one.name}"))
    return 0


def _describe(one: Variable) -> str:
    if not one.given:
        return "in your environment, but not passed on" if one.elsewhere else "missing"
    assert one.value is not None
    return describe_value(one.value)


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


def _tell(now: App, name: str, variable: str, stored: Stored, output: str) -> int:
    standing = now.get_skill(name)
    if output == "json":
        path, place = stored.config.file, stored.place
        print_json("clawft.skills.env.v1", skill=standing.name, variable=variable, stored=place, path=path)
        return 0
    click.echo(one_line(f"{say_stored(stored)}. Only programs of {standing.name} get {variable}"))
    unnamed = variable not in {one.name for one in list_variables(now, standing) if one.required or one.primary}
    if unnamed and now.strangers.is_strange(standing.found):
        say(f"note: the skill does not ask for {variable}; a stranger's skill gets only what it asks for")
    say(one_line(f"{standing.name} is {standing.state}"))
    return 0


def _remove(app: App, standing: Standing, variable: str, output: str) -> int:
    remove_value(app, find_owner(app, standing), variable)
    if output == "json":
        print_json("clawft.skills.env.v1", skill=standing.name, removed=variable)
    else:
        click.echo(one_line(f"{standing.name} does not get {variable} any more"))
    return 0
