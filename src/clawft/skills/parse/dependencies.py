"""Dependencies of a skill: other skills with version bounds, and the commands that install programs. Runs nothing."""

import re
import shlex

from msgspec import Struct

from clawft.skills.parse.model import SkillInstaller

MAX_TEXT = 200
_NEED = re.compile(
    r"(?:skill:)?(?:@?(?P<owner>[A-Za-z0-9][A-Za-z0-9._-]*)/)?(?P<name>[A-Za-z0-9][A-Za-z0-9_-]*)\s*(?P<versions>.*)"
)
_BOUND = re.compile(r"(==|>=|<=|!=|~=|>|<|=|\^|~|@)?\s*v?([0-9][0-9A-Za-z.+-]*|\*)")
_PART = re.compile(r"\d+|[A-Za-z]+")

_Key = tuple[tuple[tuple[int, int, str], ...], tuple[int, tuple[tuple[int, int, str], ...]]]


class SkillDependency(Struct, frozen=True):
    """The skill that is needed; `versions` are the bounds that its version must keep, '' for any."""

    name: str
    owner: str = ""
    versions: str = ""

    @property
    def text(self) -> str:
        return f"@{self.owner}/{self.name}{self.versions}" if self.owner else f"{self.name}{self.versions}"


def parse_dependency(text: str) -> SkillDependency | None:
    """Parse a dependency; None for a text that names no skill."""
    match = _NEED.fullmatch(text.strip()) if len(text) <= MAX_TEXT else None
    if match is None:
        return None
    bounds = _split(match["versions"])
    if bounds is None:
        return None
    constraints = [f"{sign}{version}" for sign, version in bounds if version != "*"]
    return SkillDependency(match["name"], match["owner"] or "", ",".join(constraints))


def is_met(versions: str, version: str) -> bool:
    """Return whether a version keeps all bounds. One that is not known keeps them: nothing says that it does not."""
    if not version:
        return True
    return all(_keeps(sign, bound, version) for sign, bound in _split(versions) or ())


def compare_versions(old: str, new: str) -> int:
    """Above 0 if the second is newer, below 0 if it is older: numbers by value, and `1.0-rc` before `1.0`."""
    first, second = _key(old), _key(new)
    return (second > first) - (second < first)


def _split(text: str) -> list[tuple[str, str]] | None:
    """The bounds, each a sign and a version; None for what is none."""
    bounds: list[tuple[str, str]] = []
    for part in re.split(r"\s*,\s*|\s+(?=[<>=!~^])", text.strip()) if text.strip() else ():
        match = _BOUND.fullmatch(part.strip())
        if match is None:
            return None
        sign = match[1] or "=="
        bounds.append(({"=": "==", "@": "==", "~=": "~"}.get(sign, sign), match[2]))
    return bounds


def _keeps(sign: str, bound: str, version: str) -> bool:
    order = compare_versions(bound, version)
    if sign in ("^", "~"):
        return order >= 0 and compare_versions(version, _next(bound, sign)) > 0
    return {"==": order == 0, "!=": order != 0, ">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0}[
        sign
    ]


def _next(bound: str, sign: str) -> str:
    """The first version that is too new: ^1.2 ends at 2, ^0.3 at 0.4, ~1.2.3 at 1.3, ~1.2 at 1.3, ~1 at 2."""
    numbers = [int(digits) for digits in re.findall(r"\d+", bound.partition("-")[0])] or [0]
    if sign == "~":
        at = min(1, len(numbers) - 1)
    else:
        at = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    return ".".join(map(str, [*numbers[:at], numbers[at] + 1])) + "-0"


def _key(version: str) -> _Key:
    plain = version.removeprefix("v").partition("+")[0]
    release, dash, before = plain.partition("-")
    return _parts(release), (0 if dash else 1, _parts(before))


def _parts(text: str) -> tuple[tuple[int, int, str], ...]:
    found = _PART.findall(text)
    while found and found[-1] == "0":
        found.pop()
    return tuple((1, int(part[:18]), "") if part.isdigit() else (0, 0, part) for part in found)


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


def install_words(one: SkillInstaller) -> tuple[tuple[str, ...], str]:
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


def install_command(one: SkillInstaller) -> str:
    """Return the command line that installs a program, as the user would type it in a shell; '' where the skill names
    none. Never run here."""
    return shlex.join(install_words(one)[0])
