"""Requirements of a skill, checked on this machine: every unmet one, with how to get it."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clawft.config import SkillEntry, find_by_path
from clawft.errors import ClawftError, Diagnostic
from clawft.skills.parse.model import Skill

_NOTHING = SkillEntry()


class LocalMachine:
    """This machine as far as requirements ask: system, programs, environment, config and tools."""

    def __init__(
        self,
        system: str,
        environ: Mapping[str, str],
        values: Mapping[str, Any],
        tools: frozenset[str] = frozenset(),
        skills: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`skills`: the version of every skill there is, by its name; asked only where one requires another."""
        self.system = system
        self.environ = environ
        self.values = values
        self.tools = tools
        self.skills = skills
        self._folders = [folder for folder in environ.get("PATH", os.defpath).split(os.pathsep) if folder]
        self._programs: dict[str, bool] = {}

    def has_program(self, name: str) -> bool:
        """Return whether a program is on PATH; each name is looked up once."""
        known = self._programs.get(name)
        if known is None:
            known = self._programs[name] = self._find(name)
        return known

    def has_tool(self, name: str) -> bool:
        """Return whether a tool is there under any client's name for it; `Bash(git:*)` asks for `Bash`."""
        plain = name.partition("(")[0].strip()
        return plain in self.tools or plain.lower() in self.tools

    def _find(self, name: str) -> bool:
        if self.system == "win32":
            from shutil import which  # PATHEXT and friends; a slow import elsewhere not needed

            return which(name, path=os.pathsep.join(self._folders)) is not None
        if not name or "\0" in name:
            return False
        paths = [name] if "/" in name else [f"{folder}/{name}" for folder in self._folders]
        return any(os.access(path, os.X_OK) and not os.path.isdir(path) for path in paths)


def check_requirements(
    skill: Skill, host: LocalMachine, entry: SkillEntry = _NOTHING, path: str = ""
) -> tuple[Diagnostic, ...]:
    """Check all requirements and return every unmet one, not just the first. `always` skips all but system and
    tools."""
    unmet = [*_check_platform(skill, host), *(() if skill.always else _check_supplies(skill, host, entry))]
    return tuple(
        Diagnostic(code, "warning", f'skill "{skill.name}" requires {kind} "{name}"', path, 0, hint)
        for code, kind, name, hint in unmet
    )


_Unmet = Iterator[tuple[str, str, str, str]]


def _check_platform(skill: Skill, host: LocalMachine) -> _Unmet:
    requires = skill.requires
    if requires.os and host.system not in requires.os:
        yield "requires-os", "operating system", ", ".join(requires.os), f"This machine runs {host.system}"
    for tool in requires.tools:
        if not host.has_tool(tool):
            yield "requires-tool", "tool", tool, "No tool of this name is available here"


def _check_supplies(skill: Skill, host: LocalMachine, entry: SkillEntry) -> _Unmet:
    requires = skill.requires
    for program in requires.bins:
        if not host.has_program(program):
            yield "requires-bin", "binary", program, _hint(skill, (program,))
    some = requires.any_bins
    if some and not any(host.has_program(program) for program in some):
        yield "requires-any-bin", "binary (any of)", ", ".join(some), _hint(skill, some)
    for name in requires.env:
        if not _has_env(name, skill, host, entry):
            hint = f"Set {name}, or run: weft skills env {shlex.quote(skill.name)} {shlex.quote(name)}"
            yield "requires-env", "environment variable", name, hint
    for text in requires.skills:
        yield from _check_skill(text, host.skills())
    for setting in requires.config:
        if not find_by_path(host.values, setting) and not find_by_path(host.values, f"skills.config.{setting}"):
            yield "requires-config", "config", setting, f"Set skills.config.{setting} in config.toml"


def _check_skill(text: str, skills: Mapping[str, str]) -> _Unmet:
    """Return whether a skill that is required is there, and new enough."""
    from clawft.skills.parse.dependencies import is_met, parse_dependency  # few skills require others

    need = parse_dependency(text)
    if need is None:
        yield "requires-skill", "skill", text, "This is not written as a name of a skill, so nothing can be it"
    elif need.name not in skills:
        where = f"@{need.owner}/{need.name}" if need.owner else need.name
        yield "requires-skill", "skill", text, f"Run: weft skills install {where}"
    elif not is_met(need.versions, skills[need.name]):
        hint = f"{skills[need.name]} is there. Run: weft skills update {need.name}"
        yield "requires-skill", "skill", text, hint


def _has_env(name: str, skill: Skill, host: LocalMachine, entry: SkillEntry) -> bool:
    if host.environ.get(name):
        return True
    candidates = (entry.env.get(name), entry.api_key if name == skill.primary_env else None)
    try:
        return any(value is not None and value.is_known(host.environ) for value in candidates)
    except ClawftError:  # a store of keys that must not be used gives nothing; `weft doctor` says why
        return False


def _hint(skill: Skill, programs: tuple[str, ...]) -> str:
    """Return how to install one of the programs, by the ways the skill names for it, if a shell cannot misread them."""
    fitting = [installer for installer in skill.install if not installer.bins or set(installer.bins) & set(programs)]
    if not fitting:
        return f"Install {shlex.quote(programs[0])} and put it on PATH"
    from clawft.skills.parse.dependencies import install_command  # few skills name installers

    ways = dict.fromkeys(way for way in map(install_command, fitting) if way)
    return "; or: ".join(ways) if ways else f"Run: weft skills deps {shlex.quote(skill.name)}"
