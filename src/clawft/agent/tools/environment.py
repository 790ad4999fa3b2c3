"""The environment of a command: variables that settings let through, and those configured for one skill."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.config.redaction import Secrets
from clawft.config.secret import SecretRef, names_secret
from clawft.config.skills import SkillEntry
from clawft.config.tools import ExecSettings
from clawft.skills.parse.model import Skill
from clawft.trust.permissions import UsableSkill
from clawft.trust.programs import HostPrograms, find_program
from clawft.trust.readonly import find_read_only

if TYPE_CHECKING:
    from clawft.trust.audit import AuditLog


# Nothing waits for a person, and git neither takes a folder of files for a repository nor runs what its settings
# name as a monitor: a tool could have written both.
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
}


def command_env(settings: ExecSettings, environ: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Everything a command gets of the environment; `own` is what its skill was configured to get."""
    chosen = {name: environ[name] for name in settings.env if name in environ}
    if "PATH" in chosen:  # a relative folder of it would make a file of the project a listed command
        chosen["PATH"] = os.pathsep.join(part for part in chosen["PATH"].split(os.pathsep) if os.path.isabs(part))
    return {**_QUIET, **chosen, **own}


def find_planted(commands: Iterable[tuple[str, ...]], env: Mapping[str, str], host_programs: HostPrograms) -> str:
    """Return why a command that is known to only look may do something else: the program that would be started lies
    where commands can write. Nothing if all are what they seem."""
    for name in dict.fromkeys(words[0] for words in commands if find_read_only(words)):
        found = find_program(name, env.get("PATH", os.defpath))
        if found and host_programs.is_writable(found):
            return f"'{name}' would be {found}, which commands can write"
    return ""


Entries = Mapping[str, SkillEntry]


class SuppliedVariables(Struct, frozen=True):
    """Variables for one program; `note` says what it does not get, and why."""

    env: dict[str, str] = {}
    note: str = ""


class SkillVariables:
    """Gives skills their variables. Each use of a secret is a line of the audit log, and no text may hold it then.

    `load_entries` reads the user's settings anew: what a person has just stored counts.
    """

    def __init__(
        self, load_entries: Callable[[], Entries], environ: Mapping[str, str], secrets: Secrets, audit: "AuditLog"
    ) -> None:
        self._load_entries = load_entries
        self._environ = environ
        self._secrets = secrets
        self._audit = audit

    def take(self, usable: UsableSkill, session: str) -> dict[str, str]:
        """The variables of one skill, for a program of its own. Raises: ClawftError if they may not be used."""
        entries = self._load_entries()
        variables = _configured(usable, entries)
        env = skill_env(usable, entries, self._environ)
        for name in env:
            if variables[name].is_reference or names_secret(name):
                self._secrets.add([env[name]])
                self._audit.write(
                    "secret",
                    name,
                    decision="used",
                    rule=f"skills.entries.{usable.skill.name}",
                    skill=usable.skill.name,
                    digest=usable.digest,
                    session=session,
                )
        return env

    def take_alone(self, active: Sequence[UsableSkill], inherited: Sequence[str], session: str) -> SuppliedVariables:
        """The variables for a command that a model made up: those of the only skill that could have asked for it.

        `inherited` are the names of those that are at work above.
        """
        if len({*inherited, *(usable.skill.name for usable in active)}) == 1 and active:
            return SuppliedVariables(self.take(active[-1], session))
        entries = self._load_entries()
        withheld = [usable.skill.name for usable in active if _configured(usable, entries)]
        if not withheld:
            return SuppliedVariables()
        names = ", ".join(dict.fromkeys(withheld))
        return SuppliedVariables(note=f"several skills are active, so the command did not get the variables of {names}")


def skill_env(usable: UsableSkill, entries: Entries, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of one skill; a reference to something that is not set is left out. Raises: ClawftError."""
    resolved = {name: value.resolve(environ) for name, value in _configured(usable, entries).items()}
    return {name: text for name, text in resolved.items() if text}


def find_entry(entries: Entries, skill: Skill) -> SkillEntry | None:
    """The settings of a skill: under its name, else under the key that it gives itself."""
    return entries.get(skill.name) or entries.get(skill.skill_key)


def _configured(usable: UsableSkill, entries: Entries) -> dict[str, SecretRef]:
    """Return the variables that the user set for a skill. An untrusted skill gets only those that it names, as the user
    saw when approving it."""
    skill = usable.skill
    # The key that a skill gives itself may be the name of another skill, whose secrets an untrusted skill must not get.
    entry = entries.get(skill.name) if usable.is_untrusted else find_entry(entries, skill)
    if entry is None:
        return {}
    variables: dict[str, SecretRef] = dict(entry.env)
    if skill.primary_env and entry.api_key is not None:
        variables[skill.primary_env] = entry.api_key
    if not usable.is_untrusted:
        return variables
    named = {*skill.requires.env, skill.primary_env, *(usable.granted.env if usable.granted else ())}
    return {name: value for name, value in variables.items() if name in named}
