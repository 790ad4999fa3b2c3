"""The exact words of an installer that a skill names, for a person to type or for `weft skills deps` to run.

A skill is a stranger's, and so are the names of packages in it: each must be nothing but a name.
"""

import re
import shlex

from msgspec import Struct

from clawft.format.model import Install

__all__ = ["install_command", "install_words"]

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_FORMULA = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,99}/){0,2}[A-Za-z0-9][A-Za-z0-9@._+-]{0,127}")
_NODE = re.compile(r"(?:@[a-z0-9][a-z0-9._-]{0,99}/)?[a-z0-9][a-z0-9._-]{0,127}(?:@[A-Za-z0-9.^~_-]{1,60})?")
_MODULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,99}(?:/[A-Za-z0-9._~-]{1,100}){1,12}(?:@[A-Za-z0-9.+_-]{1,100})?")
_PYTHON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?:\[[A-Za-z0-9,._-]{1,100}\])?(?:==[A-Za-z0-9.+!]{1,60})?")
_ADDRESS = re.compile(r"https://[A-Za-z0-9][A-Za-z0-9.:-]{0,200}(?:/[A-Za-z0-9._~%+@=,/-]{0,500})?")


class _Way(Struct, frozen=True):
    """A kind of installer: the words before the name, which fields may hold the name, and what it must look like."""

    before: tuple[str, ...]
    pattern: re.Pattern[str] = _PACKAGE
    fields: tuple[str, ...] = ("package", "formula")


_NPM = _Way(("npm", "install", "-g", "--ignore-scripts"), _NODE, ("package",))
_WAYS = {
    "brew": _Way(("brew", "install"), _FORMULA, ("formula", "package")),
    "apt": _Way(("apt", "install")),
    "node": _NPM,
    "npm": _NPM,
    "go": _Way(("go", "install"), _MODULE, ("module", "package")),
    "uv": _Way(("uv", "tool", "install"), _PYTHON),
    "pip": _Way(("pip", "install"), _PYTHON),
    "pipx": _Way(("pipx", "install"), _PYTHON),
    "cargo": _Way(("cargo", "install")),
    "gem": _Way(("gem", "install")),
    "choco": _Way(("choco", "install")),
    "download": _Way(("download",), _ADDRESS, ("url",)),
}
_CASK = _Way(("brew", "install", "--cask"), _FORMULA, ("cask",))


def install_words(one: Install) -> tuple[tuple[str, ...], str]:
    """The words; none for a kind nobody knows, and none, with why, for what is not named as its kind names things."""
    way = _CASK if one.kind == "brew" and one.cask else _WAYS.get(one.kind)
    if way is None:
        return (), ""
    name: str = next((value for field in way.fields if (value := getattr(one, field))), "")
    if one.kind == "go" and name and "@" not in name:
        name = f"{name}@latest"
    if not way.pattern.fullmatch(name):
        return (), f"{name[:80]!a} is not {'a plain address' if one.kind == 'download' else 'the name of a package'}"
    return (*way.before, name), ""


def install_command(one: Install) -> str:
    """What a person would type, as a shell reads it; '' where the skill names nothing so. Never run here."""
    return shlex.join(install_words(one)[0])
