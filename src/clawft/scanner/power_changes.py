"""Compare what a skill uses with what it declares and with what was approved before."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from clawft.scanner.findings import ON_LOAD, Power
from clawft.scanner.regex import words
from clawft.scanner.vocabulary.hosts import host_of
from clawft.skills.parse.model import Skill

MAX_DEPTH = 8
_ADDRESS = re.compile(r"https?://[^\s\"'<>)\]},]{1,300}", re.IGNORECASE)
# What every program has and uses: it says nothing about a skill.
_SELF_DECLARED = (ON_LOAD, "openclaw:hook")  # a HOOK.md says itself what it is
_EVERYDAY_ENV = frozenset((
    "HOME", "PATH", "USER", "LOGNAME", "PWD", "OLDPWD", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TMP", "TEMP",
    "EDITOR", "PAGER", "COLUMNS", "LINES", "NO_COLOR", "DEBUG", "CI", "HOSTNAME", "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME", "XDG_DATA_HOME", "APPDATA", "USERPROFILE",
))  # fmt: skip
_EVERYDAY_PROGRAMS = words(
    "[ awk basename bash cat cd chmod clear command cp cut date df diff dirname du echo env exit export expr false "
    "file find fold grep head hostname id ls mkdir mktemp mv paste printf pwd read readlink realpath rm rmdir sed seq "
    "set sh sleep sort source stat tail tee test touch tr true type uname uniq wait wc which whoami xargs yes zsh"
)
_INSTALLERS = {"node": ("npm", "pnpm", "yarn", "bun"), "python": ("pip", "pipx", "uv"), "uv": ("pip", "pipx")}
_OWN_PLACES = ("/tmp/", "/dev/", "./", "../", "$")


class PowerChange(Struct, frozen=True):
    """The difference of two powers, both ways."""

    added: Power = Power()
    removed: Power = Power()

    def __bool__(self) -> bool:
        return self.added != Power() or self.removed != Power()


def compare_power(old: Power, new: Power) -> PowerChange:
    """Compare the power of two versions of a skill."""
    return PowerChange(added=_without(new, old), removed=_without(old, new))


def compare_declared(skill: Skill, power: Power) -> Power:
    """Return what a skill would use and does not declare: hosts, programs, variables and the rest."""
    hosts = _declared_hosts(skill)
    programs = _declared_programs(skill)
    variables = {*skill.requires.env, skill.primary_env, *_EVERYDAY_ENV}
    return Power(
        network=_keep(power.network, lambda one: not any(_same_site(one, host) for host in hosts)),
        exec=_keep(power.exec, lambda one: one not in programs),
        files=_keep(power.files, lambda one: one.startswith(("~", "/")) and not one.startswith(_OWN_PLACES)),
        env=_keep(power.env, lambda one: one not in variables),
        persistence=power.persistence,
        hooks=_keep(
            power.hooks, lambda one: not one.startswith(_SELF_DECLARED) and one.rpartition(":")[2] not in skill.hooks
        ),
    )


def _without(power: Power, other: Power) -> Power:
    parts = ((getattr(power, name), set(getattr(other, name))) for name in Power.__struct_fields__)
    return Power(*(tuple(value for value in mine if value not in theirs) for mine, theirs in parts))


def _keep(values: Iterable[str], keep: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(value for value in values if keep(value))


def _declared_hosts(skill: Skill) -> set[str]:
    """The hosts that a skill names in its metadata."""
    texts = [skill.homepage, skill.author, *(installer.url for installer in skill.install)]
    texts += [*_strings(skill.metadata, 0), *_strings(skill.extra, 0)]
    addresses = [name for text in texts for name in (_ADDRESS.findall(text) or _bare_host(text))]
    return {host for address in addresses if (host := host_of(address))}


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
    """Return whether a host is the declared one, or stands below it."""
    site = declared.removeprefix("www.")
    return host == site or host.endswith(f".{site}")


def _declared_programs(skill: Skill) -> set[str]:
    """The programs a skill requires, installs and installs with, or names in the patterns of its tools."""
    named = {*skill.requires.bins, *skill.requires.any_bins}
    for how in skill.install:
        named |= {*how.bins, how.kind, *_INSTALLERS.get(how.kind, ())}
    patterns = (re.match(r"\w+\(\s*([\w.+-]+)", tool) for tool in skill.allowed_tools)
    return named | {match[1] for match in patterns if match} | _EVERYDAY_PROGRAMS
