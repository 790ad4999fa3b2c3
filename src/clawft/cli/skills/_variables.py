"""The variables of one skill: what it asks for, what it has, and storing what a person gives it."""

import shlex

from msgspec import Struct

from clawft.app import App
from clawft.cli._supply import Owner, Stored, is_variable, store_value
from clawft.config.secret import SecretRef
from clawft.describe.entries import entry_name, entry_of
from clawft.trust import Standing

__all__ = ["Variable", "find_missing", "find_owner", "list_variables", "store_variable"]


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


def find_owner(app: App, standing: Standing) -> Owner:
    """A skill as one that is given variables."""
    at = standing.found.location
    where = f"--dir {shlex.quote(at.path)}" if at.scope == "dir" else ""
    return Owner("skill", standing.name, entry_name(app, standing), where)


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
    return [one for one in found if is_variable(one.name)]


def store_variable(app: App, standing: Standing, name: str, secret: str) -> Stored:
    """Keep a secret for a skill, and have the user's config refer to it. Raises: ClawftError."""
    return store_value(app, find_owner(app, standing), name, secret)
