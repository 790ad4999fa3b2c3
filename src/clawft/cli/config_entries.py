"""Variables for a skill or a plugin: what a person gives it is stored as a key, and the config refers to it."""

import re
import shlex
import sys
from typing import Literal

from msgspec import UNSET, Struct

from clawft.app import App
from clawft.cli.output import one_line
from clawft.config.edit import Change, Edited
from clawft.config.keystore import Place, open_keystore
from clawft.config.secret import SecretRef, is_key_name
from clawft.errors import ClawftError, NotFound, Refused

__all__ = [
    "Owner",
    "Stored",
    "check_source",
    "describe_value",
    "is_variable",
    "read_value",
    "refer_to",
    "remove_value",
    "say_stored",
    "store_value",
]

MAX_INPUT = 100_000  # characters from standard input
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PLACES = {"keyring": "Stored in the system's keyring", "file": "Stored in your file of keys"}


class Owner(Struct, frozen=True):
    """Who is given variables. `entry` is its name in the config, `where` what its commands need beside its name."""

    kind: Literal["skill", "plugin"]
    name: str
    entry: str
    where: str = ""

    @property
    def rule(self) -> str:
        return f"weft {self.kind}s env"

    def command(self, variable: str) -> str:
        """What a person types to give it a variable."""
        where = f" {self.where}" if self.where else ""
        return f"{self.rule} {shlex.quote(self.name)} {shlex.quote(variable)}{where}"

    def path(self, variable: str) -> tuple[str, ...]:
        """Where the config has a variable of it."""
        return (f"{self.kind}s", "entries", self.entry, "env", variable)

    def key(self, variable: str) -> str:
        """Under which name a variable of it is stored: no two share one."""
        return f"{'plugin.' if self.kind == 'plugin' else ''}{self.entry}.{variable}"

    def check_key(self, variable: str) -> str:
        """The same, fit to be stored. Raises: ClawftError."""
        _check_name(variable)
        key = self.key(variable)
        if not is_key_name(key):
            hint = f"It is too long. Take it from your environment: {self.command(variable)} --from NAME"
            raise ClawftError("key-name", f"{key[:150]!a} cannot be the name of a key", hint=hint)
        return key


class Stored(Struct, frozen=True):
    """Where a value is now: the secret itself, and the config that refers to it."""

    place: Place | None
    config: Edited


def store_value(app: App, owner: Owner, variable: str, secret: str) -> Stored:
    """Keep a secret for its owner, and have the user's config refer to it. Raises: ClawftError."""
    key = owner.check_key(variable)
    app.secrets.add([secret])
    _note(app, owner, variable, "keystore")
    place = open_keystore(app.environ).store(key, secret)
    return Stored(place, app.edit_config("user", [Change(owner.path(variable), {"keystore": key})]))


def refer_to(app: App, owner: Owner, variable: str, origin: str) -> Stored:
    """Give it a variable of the person's environment, as it is whenever it is used. Raises: ClawftError."""
    _check_name(variable)
    _check_name(origin)
    _note(app, owner, variable, f"env {origin}")
    return Stored(None, app.edit_config("user", [Change(owner.path(variable), {"env": origin})]))


def remove_value(app: App, owner: Owner, variable: str) -> None:
    """Take a variable away, and forget what was stored. Raises: ClawftError; NotFound if there was none."""
    _check_name(variable)
    edited = app.edit_config("user", [Change(owner.path(variable))])
    forgotten = open_keystore(app.environ).delete(owner.key(variable))
    if edited.before[0] is UNSET and not forgotten:
        message = f"The {owner.kind} '{owner.name}' has no variable '{variable[:100]}' of yours"
        raise NotFound("variable-not-found", message, hint=f"Run: {owner.rule} {owner.name}")
    skill, facts = _facts(owner)
    app.audit.tell("secret", variable, decision="revoked", rule=owner.rule, skill=skill, detail=facts)


def _note(app: App, owner: Owner, variable: str, source: str) -> None:
    skill, facts = _facts(owner)
    detail = {**facts, "source": source}
    app.audit.write("secret", variable, decision="granted", rule=owner.rule, skill=skill, detail=detail)


def _facts(owner: Owner) -> tuple[str, dict[str, str]]:
    """Whose it is, as the audit log has it."""
    return (owner.name, {}) if owner.kind == "skill" else ("", {"plugin": owner.name})


def check_source(source: str | None) -> None:
    """A value that was typed as an argument is not taken. Raises: UsageError."""
    import click

    if source not in (None, "-"):
        raise click.UsageError("A value here would stay in the history of the shell. It is asked for, or read with: -")


def read_value(owner: Owner, variable: str, *, from_input: bool) -> str:
    """The value, from a person or from standard input. Raises: Refused where there is neither."""
    if from_input:
        text = sys.stdin.read(MAX_INPUT).strip()
        if not text:
            raise Refused("key-empty", "There is nothing on standard input", hint="Nothing was stored")
        return text
    from clawft.cli.onboard.ask import Asker

    if sys.stdin is None or not sys.stdin.isatty():
        message = f"The value of {variable} is asked for, and there is no terminal to ask on"
        raise Refused("no-terminal", message, hint=f"Run: {owner.command(variable)} - < FILE")
    text = Asker(yes=False).ask_secret(one_line(f"{variable} for {owner.name} (it is not shown)"))
    if not text:
        raise Refused("key-empty", "Nothing was typed", hint="Nothing was stored")
    return text


def describe_value(value: SecretRef) -> str:
    """Where a value is, without showing it."""
    if value.keystore:
        return f"stored as {value}"
    return f"from {value}" if value.env else "in the config"


def say_stored(stored: Stored) -> str:
    """Where a value went."""
    return _PLACES[stored.place] if stored.place else "It is taken from your environment"


def is_variable(name: str) -> bool:
    """Whether a variable can be called so."""
    return _NAME.fullmatch(name) is not None


def _check_name(name: str) -> None:
    if not is_variable(name):
        hint = "A variable has letters, digits and '_', as in API_KEY"
        raise ClawftError("variable-name", f"{name[:100]!a} cannot be the name of a variable", hint=hint)
