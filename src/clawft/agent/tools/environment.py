"""The variables that the user configured for a skill: for programs of that skill, and for no others (R174)."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.config.masking import Secrets
from clawft.config.secret import SecretRef, names_secret
from clawft.config.skills import SkillEntry
from clawft.format.model import Skill
from clawft.trust.cleared import Cleared

if TYPE_CHECKING:
    from clawft.trust.audit import Audit

__all__ = ["Supplied", "Supplies", "find_entry", "skill_env"]

Entries = Mapping[str, SkillEntry]


class Supplied(Struct, frozen=True):
    """Variables for one program; `note` says what it does not get, and why."""

    env: dict[str, str] = {}
    note: str = ""


class Supplies:
    """Gives skills their variables. Each use of a secret is a line of the audit log, and no text may hold it then.

    `load_entries` reads the user's settings anew: what a person has just stored counts.
    """

    def __init__(
        self, load_entries: Callable[[], Entries], environ: Mapping[str, str], secrets: Secrets, audit: "Audit"
    ) -> None:
        self._load_entries = load_entries
        self._environ = environ
        self._secrets = secrets
        self._audit = audit

    def take(self, cleared: Cleared, session: str) -> dict[str, str]:
        """The variables of one skill, for a program of its own. Raises: ClawftError if they may not be used."""
        entries = self._load_entries()
        given = _configured(cleared, entries)
        env = skill_env(cleared, entries, self._environ)
        for name in env:
            if given[name].is_reference or names_secret(name):
                self._secrets.add([env[name]])
                self._audit.write(
                    "secret",
                    name,
                    decision="used",
                    rule=f"skills.entries.{cleared.skill.name}",
                    skill=cleared.skill.name,
                    digest=cleared.digest,
                    session=session,
                )
        return env

    def take_alone(self, active: Sequence[Cleared], inherited: Sequence[str], session: str) -> Supplied:
        """The variables for a command that a model made up: those of the only skill that could have asked for it.

        `inherited` are the names of those that are at work above.
        """
        if len({*inherited, *(one.skill.name for one in active)}) == 1 and active:
            return Supplied(self.take(active[-1], session))
        entries = self._load_entries()
        withheld = [one.skill.name for one in active if _configured(one, entries)]
        if not withheld:
            return Supplied()
        names = ", ".join(dict.fromkeys(withheld))
        return Supplied(note=f"several skills are active, so the command did not get the variables of {names}")


def skill_env(cleared: Cleared, entries: Entries, environ: Mapping[str, str]) -> dict[str, str]:
    """What one skill gets; what a reference leads to and is not set is left out. Raises: ClawftError."""
    resolved = {name: value.resolve(environ) for name, value in _configured(cleared, entries).items()}
    return {name: text for name, text in resolved.items() if text}


def find_entry(entries: Entries, skill: Skill) -> SkillEntry | None:
    """The settings of a skill: under its name, else under the key that it gives itself."""
    return entries.get(skill.name) or entries.get(skill.skill_key)


def _configured(cleared: Cleared, entries: Entries) -> dict[str, SecretRef]:
    """What the user set for a skill. A stranger's gets only what it names, as the user saw when they approved it."""
    skill = cleared.skill
    # The key that a skill gives itself may be the name of another, whose keys a stranger's must not get.
    entry = entries.get(skill.name) if cleared.stranger else find_entry(entries, skill)
    if entry is None:
        return {}
    given: dict[str, SecretRef] = dict(entry.env)
    if skill.primary_env and entry.api_key is not None:
        given[skill.primary_env] = entry.api_key
    if not cleared.stranger:
        return given
    named = {*skill.requires.env, skill.primary_env, *(cleared.granted.env if cleared.granted else ())}
    return {name: value for name, value in given.items() if name in named}
