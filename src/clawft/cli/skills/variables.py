"""`weft skills env`: the variables of a skill, where each value comes from, and storing one."""

import shlex
import sys
from typing import Any

import click
from msgspec import Struct

from clawft.app.app import App, entry_name, entry_of
from clawft.cli.completion import complete_skills
from clawft.cli.config_entries import (
    StoredVariable,
    VariableOwner,
    check_source,
    is_variable,
    print_stored,
    read_value,
    remove_value,
    render_value_source,
    set_variable_reference,
    store_value,
)
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.prompts import OnboardPrompts
from clawft.config.secret import SecretRef
from clawft.trust.status import SkillStatus


class SkillVariable(Struct, frozen=True):
    """One variable. `given` tells whether programs of the skill get it; `value` says from where, and shows nothing."""

    name: str
    required: bool
    primary: bool
    values: bool
    value: SecretRef | None = None
    elsewhere: bool = False  # in the person's own environment, of which programs see little

    @property
    def missing(self) -> bool:
        """Return whether there is nothing of this name at all."""
        return not self.values and not self.elsewhere


def make_skill_owner(app: App, status: SkillStatus) -> VariableOwner:
    """A skill as one that is given variables."""
    at = status.found.location
    where = f"--dir {shlex.quote(at.path)}" if at.scope == "dir" else ""
    return VariableOwner("skill", status.name, entry_name(app, status), where)


def list_variables(app: App, status: SkillStatus) -> list[SkillVariable]:
    """List the variables that a skill asks for, then others that were set for it. Raises: ClawftError."""
    skill, entry = status.found.skill, entry_of(app, status)
    required = skill.requires.env if skill else ()
    primary = skill.primary_env if skill else ""
    names = dict.fromkeys((*required, *filter(None, (primary,)), *entry.env))
    found = []
    for name in names:
        value = entry.api_key if name == primary and entry.api_key is not None else entry.env.get(name)
        has_value = value is not None and value.is_known(app.environ)
        elsewhere = bool(app.environ.get(name))
        found.append(SkillVariable(name, name in required, name == primary, has_value, value, elsewhere))
    return found


def find_missing(app: App, status: SkillStatus) -> list[SkillVariable]:
    """Find the variables that a skill asks for and that have no value. Raises: ClawftError."""
    found = [
        variable
        for variable in list_variables(app, status)
        if variable.missing and (variable.required or variable.primary)
    ]
    return [variable for variable in found if is_variable(variable.name)]


def store_variable(app: App, status: SkillStatus, name: str, secret: str) -> StoredVariable:
    """Keep a secret for a skill, and have the user's config refer to it. Raises: ClawftError."""
    return store_value(app, make_skill_owner(app, status), name, secret)


def ask_missing_variables(app: App, status: SkillStatus, *, ask: bool) -> bool:
    """Ask for each missing variable if the user can answer, else print how to set it. Return whether one was stored.

    Raises: ClawftError; click.Abort.
    """
    missing = find_missing(app, status)
    if not missing:
        return False
    if not ask or any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stderr)):
        for variable in missing:
            if not variable.required:  # the turn itself warns of those
                say(
                    one_line(
                        f"{status.name} asks for {variable.name}. "
                        f"Run: {make_skill_owner(app, status).command(variable.name)}"
                    )
                )
        return False

    stored = False
    for variable in missing:
        secret = OnboardPrompts(yes=False).ask_secret(
            one_line(f"{status.name} needs {variable.name} (not shown; Enter skips)")
        )
        if secret:
            store_variable(app, status, variable.name, secret)
            say(one_line(f"Stored. Only programs of {status.name} get {variable.name}"))
            stored = True
    return stored


@click.command("env")
@click.argument("name", shell_complete=complete_skills)
@click.argument("variable", required=False)
@click.argument("source", required=False, metavar="[-]")
@click.option("--from", "origin", default="", metavar="VAR", help="Take it from this variable of the environment.")
@click.option("--remove", is_flag=True, help="Take the variable from the skill, and forget what was stored.")
@format_option
@dir_option
def command(
    name: str, variable: str | None, source: str | None, origin: str, remove: bool, dirs: tuple[str, ...]
) -> CommandResult:
    """List the variables that a skill asks for and has; or give it one.

    The value of VARIABLE is asked for without showing it, or read from standard input with -. It is stored as a key
    of yours; the config refers to it, and only programs of this skill get it. No value is ever shown.
    """
    check_source(source)
    if not variable and (remove or origin):
        raise click.UsageError("Say which variable")
    app = open_here(dirs)
    status = app.get_skill(name)
    if not variable:
        return _list(app, status)
    if remove:
        return _remove(app, status, variable)
    owner = make_skill_owner(app, status)
    if origin:
        stored = set_variable_reference(app, owner, variable, origin)
    else:
        stored = store_value(app, owner, variable, read_value(owner, variable, from_input=source == "-"))
    return _tell(app.refresh(), name, variable, stored)


def _list(app: App, status: SkillStatus) -> CommandResult:
    found = list_variables(app, status)

    def show() -> None:
        if not found:
            return say(one_line(f"{status.name} asks for no variables, and has none"))
        rows = [
            (variable.name, "required" if variable.required else "optional", _describe(variable)) for variable in found
        ]
        print_table(("VARIABLE", "", "VALUE"), rows, wide=2)
        owner = make_skill_owner(app, status)
        for variable in found:
            if variable.missing and (variable.required or variable.primary):
                say(one_line(f"To set it: {owner.command(variable.name)}"))
            elif not variable.values:
                say(one_line(f"To pass it on: {owner.command(variable.name)} --from {variable.name}"))
        return None

    variables = [_to_json(variable) for variable in found]
    return CommandResult("clawft.skills.env.v1", {"skill": status.name, "variables": variables}, show)


def _describe(one: SkillVariable) -> str:
    if not one.values:
        return "in your environment, but not passed on" if one.elsewhere else "missing"
    assert one.value is not None
    return render_value_source(one.value)


def _to_json(one: SkillVariable) -> dict[str, Any]:
    value = one.value
    source = ("keystore" if value.keystore else "env" if value.env else "text") if value is not None else None
    return {
        "name": one.name,
        "required": one.required,
        "primary": one.primary,
        "given": one.values,
        "source": source,
        "reference": str(value) if value is not None and value.is_reference else None,
        "in_environment": one.elsewhere,
    }


def _tell(now: App, name: str, variable: str, stored: StoredVariable) -> CommandResult:
    status = now.get_skill(name)
    path, place = stored.config.file, stored.place

    def show() -> None:
        click.echo(one_line(f"{print_stored(stored)}. Only programs of {status.name} get {variable}"))
        unnamed = variable not in {
            variable.name for variable in list_variables(now, status) if variable.required or variable.primary
        }
        if unnamed and now.trust_policy.requires_approval(status.found):
            say(f"note: the skill does not ask for {variable}; a stranger's skill gets only what it asks for")
        say(one_line(f"{status.name} is {status.state}"))

    return CommandResult(
        "clawft.skills.env.v1", {"skill": status.name, "variable": variable, "stored": place, "path": path}, show
    )


def _remove(app: App, status: SkillStatus, variable: str) -> CommandResult:
    remove_value(app, make_skill_owner(app, status), variable)
    return CommandResult(
        "clawft.skills.env.v1",
        {"skill": status.name, "removed": variable},
        one_line(f"{status.name} does not get {variable} any more"),
    )
