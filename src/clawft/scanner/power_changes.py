"""What a skill's power means: against what it declares, and against what it was when somebody last agreed to it."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from clawft.format.model import Skill
from clawft.scan.findings import ON_LOAD, Power
from clawft.scan.vocabulary.hosts import host_of

__all__ = ["PowerChange", "compare_declared", "compare_power"]

MAX_DEPTH = 8
_ADDRESS = re.compile(r"https?://[^\s\"'<>)\]},]{1,300}", re.IGNORECASE)
# What every program has and uses: it says nothing about a skill.
_SAID = (ON_LOAD, "openclaw:hook")  # a HOOK.md says itself what it is
_EVERYDAY_ENV = frozenset((
    "HOME", "PATH", "USER", "LOGNAME", "PWD", "OLDPWD", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TMP", "TEMP",
    "EDITOR", "PAGER", "COLUMNS", "LINES", "NO_COLOR", "DEBUG", "CI", "HOSTNAME", "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME", "XDG_DATA_HOME", "APPDATA", "USERPROFILE",
))  # fmt: skip
_EVERYDAY_PROGRAMS = frozenset((
    "[", "awk", "basename", "bash", "cat", "cd", "chmod", "clear", "command", "cp", "cut", "date", "df", "diff",
    "dirname", "du", "echo", "env", "exit", "export", "expr", "false", "file", "find", "fold", "grep", "head",
    "hostname", "id", "ls", "mkdir", "mktemp", "mv", "paste", "printf", "pwd", "read", "readlink", "realpath", "rm",
    "rmdir", "sed", "seq", "set", "sh", "sleep", "sort", "source", "stat", "tail", "tee", "test", "touch", "tr",
    "true", "type", "uname", "uniq", "wait", "wc", "which", "whoami", "xargs", "yes", "zsh",
))  # fmt: skip
_INSTALLERS = {"node": ("npm", "pnpm", "yarn", "bun"), "python": ("pip", "pipx", "uv"), "uv": ("pip", "pipx")}
_OWN_PLACES = ("/tmp/", "/dev/", "./", "../", "$")


class PowerChange(Struct, frozen=True):
    """What one power has that another has not, both ways."""

    added: Power = Power()
    removed: Power = Power()

    def __bool__(self) -> bool:
        return self.added != Power() or self.removed != Power()

    @property
    def grew(self) -> bool:
        """Whether there is anything new to agree to."""
        return self.added != Power()


def compare_power(old: Power, new: Power) -> PowerChange:
    """What changed from one version of a skill to another."""
    return PowerChange(added=_without(new, old), removed=_without(old, new))


def compare_declared(skill: Skill, power: Power) -> Power:
    """What a skill would use and does not say: hosts, programs, variables and the rest, as far as it could say them."""
    hosts = _declared_hosts(skill)
    programs = _declared_programs(skill)
    variables = {*skill.requires.env, skill.primary_env, *_EVERYDAY_ENV}
    return Power(
        network=_keep(power.network, lambda one: not any(_same_site(one, host) for host in hosts)),
        exec=_keep(power.exec, lambda one: one not in programs),
        files=_keep(power.files, lambda one: one.startswith(("~", "/")) and not one.startswith(_OWN_PLACES)),
        env=_keep(power.env, lambda one: one not in variables),
        persistence=power.persistence,
        hooks=_keep(power.hooks, lambda one: not one.startswith(_SAID) and one.rpartition(":")[2] not in skill.hooks),
    )


def _without(power: Power, other: Power) -> Power:
    parts = ((getattr(power, name), set(getattr(other, name))) for name in Power.__struct_fields__)
    return Power(*(tuple(one for one in mine if one not in theirs) for mine, theirs in parts))


def _keep(values: Iterable[str], keep: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(one for one in values if keep(one))


def _declared_hosts(skill: Skill) -> set[str]:
    """The hosts that a skill names in its metadata."""
    texts = [skill.homepage, skill.author, *(one.url for one in skill.install)]
    texts += [*_strings(skill.metadata, 0), *_strings(skill.extra, 0)]
    addresses = [one for text in texts for one in (_ADDRESS.findall(text) or _bare_host(text))]
    return {host for one in addresses if (host := host_of(one))}


def _bare_host(text: str) -> list[str]:
    return [text] if re.fullmatch(r"[\w-]{1,63}(\.[\w-]{1,63}){1,8}", text) else []


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < MAX_DEPTH and isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner, depth + 1)


def _same_site(host: str, declared: str) -> bool:
    """Whether a host is the declared one, or stands below it."""
    site = declared.removeprefix("www.")
    return host == site or host.endswith(f".{site}")


def _declared_programs(skill: Skill) -> set[str]:
    """The programs a skill requires, installs and installs with, or names in the patterns of its tools."""
    named = {*skill.requires.bins, *skill.requires.any_bins}
    for how in skill.install:
        named |= {*how.bins, how.kind, *_INSTALLERS.get(how.kind, ())}
    patterns = (re.match(r"\w+\(\s*([\w.+-]+)", tool) for tool in skill.allowed_tools)
    return named | {match[1] for match in patterns if match} | _EVERYDAY_PROGRAMS
