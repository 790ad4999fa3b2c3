"""The variables of one skill: what it asks for, what it has, and storing what a person gives it."""

import re

from msgspec import UNSET, Struct

from clawft.app import App
from clawft.cli.skills._entries import entry_name, entry_of
from clawft.config.edit import Change, Edited
from clawft.config.keystore import Place, open_keystore
from clawft.config.secret import SecretRef, is_key_name
from clawft.errors import ClawftError
from clawft.trust import Standing

__all__ = [
    "Stored",
    "Variable",
    "command_for",
    "find_missing",
    "list_variables",
    "refer_to",
    "remove_variable",
    "store_variable",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Variable(Struct, frozen=True):
    """One variable. `given` tells whether programs of the skill get it; `value` says from where, and shows nothing."""

    name: str
    required: bool
    primary: bool
    given: bool
    value: SecretRef | None = None
    elsewhere: bool = False  # in the person's own environment, of which programs see little

    @property
    def missing(self) -> bool:
        """Whether there is nothing of this name at all."""
        return not self.given and not self.elsewhere


class Stored(Struct, frozen=True):
    """Where a value is now: the secret itself, and the config that refers to it."""

    place: Place | None
    config: Edited


def list_variables(app: App, standing: Standing) -> list[Variable]:
    """What a skill asks for, then what else was set for it. Raises: ClawftError."""
    skill, entry = standing.found.skill, entry_of(app, standing)
    required = skill.requires.env if skill else ()
    primary = skill.primary_env if skill else ""
    names = dict.fromkeys((*required, *filter(None, (primary,)), *entry.env))
    found = []
    for name in names:
        value = entry.api_key if name == primary and entry.api_key is not None else entry.env.get(name)
        given = value is not None and value.is_known(app.environ)
        elsewhere = bool(app.environ.get(name))
        found.append(Variable(name, name in required, name == primary, given, value, elsewhere))
    return found


def find_missing(app: App, standing: Standing) -> list[Variable]:
    """What a skill asks for and nobody set. Raises: ClawftError."""
    found = [one for one in list_variables(app, standing) if one.missing and (one.required or one.primary)]
    return [one for one in found if _NAME.fullmatch(one.name)]


def command_for(standing: Standing, variable: str) -> str:
    """What a person types to give a skill a variable."""
    import shlex

    at = standing.found.location
    where = f" --dir {shlex.quote(at.path)}" if at.scope == "dir" else ""
    return f"weft skills env {shlex.quote(standing.name)} {shlex.quote(variable)}{where}"


def store_variable(app: App, standing: Standing, name: str, secret: str) -> Stored:
    """Keep a secret for a skill, and have the user's config refer to it. Raises: ClawftError."""
    key = _key_name(app, standing, name)
    app.secrets.add([secret])
    _grant(app, standing, name, "keystore")
    place = open_keystore(app.environ).store(key, secret)
    return Stored(place, _write(app, standing, name, {"keystore": key}))


def refer_to(app: App, standing: Standing, name: str, variable: str) -> Stored:
    """Give a skill a variable of the person's environment, as it is whenever the skill runs. Raises: ClawftError."""
    _check_name(name)
    _check_name(variable)
    _grant(app, standing, name, f"env {variable}")
    return Stored(None, _write(app, standing, name, {"env": variable}))


def remove_variable(app: App, standing: Standing, name: str) -> bool:
    """Take a variable from a skill; whether it had one. Raises: ClawftError."""
    path = ("skills", "entries", entry_name(app, standing), "env", name)
    edited = app.edit_config("user", [Change(path)])
    forgotten = open_keystore(app.environ).delete(_key_name(app, standing, name))
    found = edited.before[0] is not UNSET or forgotten
    if found:
        app.audit.tell("secret", name, decision="revoked", rule="weft skills env", skill=standing.name)
    return found


def _grant(app: App, standing: Standing, name: str, source: str) -> None:
    rule, facts = "weft skills env", {"source": source}
    app.audit.write("secret", name, decision="granted", rule=rule, skill=standing.name, detail=facts)


def _write(app: App, standing: Standing, name: str, reference: dict[str, str]) -> Edited:
    path = ("skills", "entries", entry_name(app, standing), "env", name)
    return app.edit_config("user", [Change(path, reference)])


def _key_name(app: App, standing: Standing, name: str) -> str:
    """Under which name a variable of a skill is stored: no two skills share one."""
    _check_name(name)
    key = f"{entry_name(app, standing)}.{name}"
    if not is_key_name(key):
        raise ClawftError(
            "key-name", f"{key[:150]!a} cannot be the name of a key", hint="Its skill has too long a name"
        )
    return key


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "A variable has letters, digits and '_', as in API_KEY"
        raise ClawftError("variable-name", f"{name[:100]!a} cannot be the name of a variable", hint=hint)
