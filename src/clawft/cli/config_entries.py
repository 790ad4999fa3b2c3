"""Entries that commands write to the user's config: hooks and plugins on or off, and variables whose values are stored
as keys."""

import re
import shlex
import sys
from collections.abc import Iterable
from typing import Any, Literal

import click
from msgspec import UNSET, Struct

from clawft.app.app import App
from clawft.cli.output import one_line
from clawft.cli.prompts import OnboardPrompts
from clawft.config.changes import EditedConfig, SettingChange
from clawft.config.keystore import Place, open_keystore
from clawft.config.secret import SecretRef, is_key_name
from clawft.errors import ClawftError, NotFound, Refused


def write_switches(
    app: App, section: Literal["hooks", "plugins"], keys: Iterable[str], *, enabled: bool
) -> EditedConfig:
    """Have entries of a section on or off, in one write. One that only turned something off is taken out.

    Raises: ClawftError.
    """

    def plan(values: dict[str, Any]) -> list[SettingChange]:
        written = values.get(section, {}).get("entries", {})
        changes = []
        for key in dict.fromkeys(keys):
            path = (section, "entries", key)
            entry: dict[str, Any] = written.get(key, {})
            if not enabled:
                changes.append(SettingChange((*path, "enabled"), False))
            elif entry.get("enabled", True):
                continue  # it is on already
            elif entry.keys() <= {"enabled"}:
                changes.append(SettingChange(path, UNSET))
            else:
                changes.append(SettingChange((*path, "enabled"), True))
        return changes

    return app.edit_config("user", plan)


MAX_INPUT = 100_000  # characters from standard input
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PLACES = {"keyring": "Stored in the system's keyring", "file": "Stored in your file of keys"}


class VariableOwner(Struct, frozen=True):
    """The skill or plugin that variables are set for.

    `entry` is its name in the config; `where` holds the arguments its commands need after its name.
    """

    kind: Literal["skill", "plugin"]
    name: str
    entry: str
    where: str = ""

    @property
    def rule(self) -> str:
        return f"weft {self.kind}s env"

    def command(self, variable: str) -> str:
        """Return the command that sets a variable of this owner."""
        where = f" {self.where}" if self.where else ""
        return f"{self.rule} {shlex.quote(self.name)} {shlex.quote(variable)}{where}"

    def path(self, variable: str) -> tuple[str, ...]:
        """Return the path of a variable of this owner in the config."""
        return (f"{self.kind}s", "entries", self.entry, "env", variable)

    def key(self, variable: str) -> str:
        """Under which name a variable of it is stored: no two share one."""
        return f"{'plugin.' if self.kind == 'plugin' else ''}{self.entry}.{variable}"

    def check_key(self, variable: str) -> str:
        """Return the key of a variable, fit to be stored. Raises: ClawftError."""
        _check_name(variable)
        key = self.key(variable)
        if not is_key_name(key):
            hint = f"It is too long. Take it from your environment: {self.command(variable)} --from NAME"
            raise ClawftError("key-name", f"{key[:150]!a} cannot be the name of a key", hint=hint)
        return key


class StoredVariable(Struct, frozen=True):
    """A place where the secret itself is stored, and the config that refers to it."""

    place: Place | None
    config: EditedConfig


def store_value(app: App, owner: VariableOwner, variable: str, secret: str) -> StoredVariable:
    """Keep a secret for its owner, and have the user's config refer to it. Raises: ClawftError."""
    key = owner.check_key(variable)
    app.secrets.add([secret])
    _note(app, owner, variable, "keystore")
    place = open_keystore(app.environ).store(key, secret)
    return StoredVariable(place, app.edit_config("user", [SettingChange(owner.path(variable), {"keystore": key})]))


def set_variable_reference(app: App, owner: VariableOwner, variable: str, origin: str) -> StoredVariable:
    """Give it a variable of the person's environment, as it is whenever it is used. Raises: ClawftError."""
    _check_name(variable)
    _check_name(origin)
    _note(app, owner, variable, f"env {origin}")
    return StoredVariable(None, app.edit_config("user", [SettingChange(owner.path(variable), {"env": origin})]))


def remove_value(app: App, owner: VariableOwner, variable: str) -> None:
    """Take a variable away, and forget what was stored. Raises: ClawftError; NotFound if there was none."""
    _check_name(variable)
    edited = app.edit_config("user", [SettingChange(owner.path(variable))])
    forgotten = open_keystore(app.environ).delete(owner.key(variable))
    if edited.before[0] is UNSET and not forgotten:
        message = f"The {owner.kind} '{owner.name}' has no variable '{variable[:100]}' of yours"
        raise NotFound("variable-not-found", message, hint=f"Run: {owner.rule} {owner.name}")
    skill, facts = _facts(owner)
    app.audit.tell("secret", variable, decision="revoked", rule=owner.rule, skill=skill, detail=facts)


def _note(app: App, owner: VariableOwner, variable: str, source: str) -> None:
    skill, facts = _facts(owner)
    detail = {**facts, "source": source}
    app.audit.write("secret", variable, decision="granted", rule=owner.rule, skill=skill, detail=detail)


def _facts(owner: VariableOwner) -> tuple[str, dict[str, str]]:
    """Return the owner's name and details for an entry in the audit log."""
    return (owner.name, {}) if owner.kind == "skill" else ("", {"plugin": owner.name})


def check_source(source: str | None) -> None:
    """A value that was typed as an argument is not taken. Raises: UsageError."""
    if source not in (None, "-"):
        raise click.UsageError("A value here would stay in the history of the shell. It is asked for, or read with: -")


def read_value(owner: VariableOwner, variable: str, *, from_input: bool) -> str:
    """The value, from a person or from standard input. Raises: Refused where there is neither."""
    if from_input:
        text = sys.stdin.read(MAX_INPUT).strip()
        if not text:
            raise Refused("key-empty", "There is nothing on standard input", hint="Nothing was stored")
        return text

    if sys.stdin is None or not sys.stdin.isatty():
        message = f"The value of {variable} is asked for, and there is no terminal to ask on"
        raise Refused("no-terminal", message, hint=f"Run: {owner.command(variable)} - < FILE")
    text = OnboardPrompts(yes=False).ask_secret(one_line(f"{variable} for {owner.name} (it is not shown)"))
    if not text:
        raise Refused("key-empty", "Nothing was typed", hint="Nothing was stored")
    return text


def render_value_source(value: SecretRef) -> str:
    """Render where a value comes from, without showing it."""
    if value.keystore:
        return f"stored as {value}"
    return f"from {value}" if value.env else "in the config"


def print_stored(stored: StoredVariable) -> str:
    """Return the sentence about where a value was stored."""
    return _PLACES[stored.place] if stored.place else "It is taken from your environment"


def is_variable(name: str) -> bool:
    """Return whether a variable can be called so."""
    return _NAME.fullmatch(name) is not None


def _check_name(name: str) -> None:
    if not is_variable(name):
        hint = "A variable has letters, digits and '_', as in API_KEY"
        raise ClawftError("variable-name", f"{name[:100]!a} cannot be the name of a variable", hint=hint)
