"""One skill that another needs, as authors write it: `name`, `@owner/name`, `name@1.2.3`, `name>=1.2,<2`, `name ^1`."""

import re

from msgspec import Struct

__all__ = ["Need", "compare_versions", "is_met", "parse_need"]

MAX_TEXT = 200
_NEED = re.compile(
    r"(?:skill:)?(?:@?(?P<owner>[A-Za-z0-9][A-Za-z0-9._-]*)/)?(?P<name>[A-Za-z0-9][A-Za-z0-9_-]*)\s*(?P<versions>.*)"
)
_BOUND = re.compile(r"(==|>=|<=|!=|~=|>|<|=|\^|~|@)?\s*v?([0-9][0-9A-Za-z.+-]*|\*)")
_PART = re.compile(r"\d+|[A-Za-z]+")

_Key = tuple[tuple[tuple[int, int, str], ...], tuple[int, tuple[tuple[int, int, str], ...]]]


class Need(Struct, frozen=True):
    """The skill that is needed; `versions` are the bounds that its version must keep, '' for any."""

    name: str
    owner: str = ""
    versions: str = ""

    @property
    def text(self) -> str:
        return f"@{self.owner}/{self.name}{self.versions}" if self.owner else f"{self.name}{self.versions}"


def parse_need(text: str) -> Need | None:
    """What is needed; None for what names no skill."""
    match = _NEED.fullmatch(text.strip()) if len(text) <= MAX_TEXT else None
    if match is None:
        return None
    bounds = _split(match["versions"])
    if bounds is None:
        return None
    kept = [f"{sign}{version}" for sign, version in bounds if version != "*"]
    return Need(match["name"], match["owner"] or "", ",".join(kept))


def is_met(versions: str, version: str) -> bool:
    """Whether a version keeps all bounds. One that is not known keeps them: nothing says that it does not."""
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
    numbers = [int(one) for one in re.findall(r"\d+", bound.partition("-")[0])] or [0]
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
    return tuple((1, int(one[:18]), "") if one.isdigit() else (0, 0, one) for one in found)
