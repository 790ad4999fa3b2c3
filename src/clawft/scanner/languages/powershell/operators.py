"""Tokens, values and operators of PowerShell, over constants."""

import re
from collections.abc import Callable, Iterable

from clawft.scanner.languages.commands import NOTHING, CommandContext, CommandValue, join_words, sources_of, unknown

Item = CommandValue | list[CommandValue]


SPACE = re.compile(r"(?:[ \t\r\f\v\xa0]|`\r?\n|<#.*?(?:#>|\Z))+", re.DOTALL)
VARIABLE = re.compile(
    r"(?:\$(?=\S)|@(?=[A-Za-z_]))(?:\{([^}\n]{1,80})\}|([A-Za-z_]\w*(?::[A-Za-z_][\w.()]*)?)|([$?^_]))"
)
WORD = re.compile(r"(?:[^\s`'\"|;{}()&<>,$@#]|(?<=[\w.-])[#@&](?=\S)|`[^\n])+")
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:kb|mb|gb)?\b", re.IGNORECASE)
TYPE = re.compile(r"\[([A-Za-z_][\w.]*(?:\[\])?)\]")
MEMBER = re.compile(r"(::|\.)([A-Za-z_]\w*|['\"][^'\"\n]{1,60}['\"])")
OPERATOR = re.compile(r"-([a-zA-Z]{1,12})\b(?!-)")


def name_of(match: re.Match[str]) -> str:
    name = (match[1] or match[2] or match[3]).lower()
    scope, colon, rest = name.partition(":")
    return rest if colon and scope in ("global", "script", "local", "private", "using", "variable") else name


def unescape(word: str) -> str:
    """A word without the backticks in it."""
    return re.sub(r"`(.)", r"\1", word) if "`" in word else word


MAX_ITEMS = 20_000
_HOLE = re.compile(r"\{(\d{1,3})(?:[,:][^{}]{0,20})?\}")


def flatten(value: "Item | Iterable[Item]") -> list[CommandValue]:
    """A value as a flat list."""
    if isinstance(value, CommandValue):
        return [value]
    flat: list[CommandValue] = []
    for element in value:
        if isinstance(element, CommandValue):
            flat.append(element)
        else:
            flat.extend(element)
        if len(flat) > MAX_ITEMS:
            break
    return flat


def as_text(value: Item) -> CommandValue:
    """A value as one text, the items of a list with blanks between them."""
    if isinstance(value, CommandValue):
        return value
    joined = join_words(value)
    return joined.with_text(joined.text[: 1 << 18])


def apply_operator(world: CommandContext, name: str, left: Item, right: Item) -> Item:
    """Apply an operator."""
    handler = _OPERATORS.get(name)
    if handler is not None:
        return handler(world, left, right)
    if name.startswith("["):
        return _cast(name, left)
    values = [*flatten(left), *flatten(right)]
    return unknown("", sources_of(values))


def _plus(world: CommandContext, left: Item, right: Item) -> Item:
    if isinstance(left, list):
        return [*left, *flatten(right)][:MAX_ITEMS]
    one, two = as_text(left), as_text(right)
    return world.make(one.text + two.text, sources_of((one, two)), known=one.known and two.known)


def _join(world: CommandContext, left: Item, right: Item) -> Item:
    values = flatten(left)
    glue = as_text(right).text if right is not NOTHING else ""
    return world.join(values, glue)


def _format(world: CommandContext, left: Item, right: Item) -> Item:
    pattern, values = as_text(left), flatten(right)
    known = pattern.known and all(value.known for value in values)
    text = _HOLE.sub(lambda hole: values[int(hole[1])].text if int(hole[1]) < len(values) else "", pattern.text)
    return world.make(text, sources_of((pattern, *values)), known=known)


def _replace(world: CommandContext, left: Item, right: Item) -> Item:
    text, pair = as_text(left), flatten(right)
    old, new = (pair[0].text if pair else ""), (pair[1].text if len(pair) > 1 else "")
    plain = re.sub(r"\\(.)", r"\1", old)
    if re.search(r"(?<!\\)[*+?^$\[\](){}|.]", old) or not plain:
        return unknown(text.text, text.sources)
    return world.make(
        re.sub(re.escape(plain), lambda _: new, text.text, flags=re.IGNORECASE), text.sources, known=text.known
    )


def _split(_world: CommandContext, left: Item, right: Item) -> Item:
    text = as_text(left)
    mark = re.sub(r"\\(.)", r"\1", flatten(right)[0].text if right is not NOTHING and flatten(right) else "")
    parts = text.text.split(mark) if mark else text.text.split()
    return [text.with_text(part) for part in parts[:MAX_ITEMS]]


def _numbers(values: Iterable[CommandValue]) -> list[int]:
    return [int(value.text) for value in values if re.fullmatch(r"-?\d{1,9}", value.text.strip())]


def _xor(_world: CommandContext, left: Item, right: Item) -> Item:
    key = _numbers(flatten(right))
    if not key:
        return unknown("", sources_of(flatten(left)))
    return [CommandValue(str(number ^ key[0])) for number in _numbers(flatten(left))] or NOTHING


def _range(_world: CommandContext, left: Item, right: Item) -> Item:
    ends = _numbers((as_text(left), as_text(right)))
    if len(ends) < 2:
        return NOTHING
    low, high = ends
    step = 1 if high >= low else -1
    return [CommandValue(str(index)) for index in range(low, high + step, step)[:4096]]


def _index(_world: CommandContext, left: Item, right: Item) -> Item:
    places = _numbers(flatten(right))
    if not places:
        values = flatten(left)
        return unknown("", sources_of(values))
    items = [left.with_text(char) for char in left.text] if isinstance(left, CommandValue) else left
    picked = [items[place] for place in places[:4096] if -len(items) <= place < len(items)]
    return picked[0] if len(picked) == 1 else picked or NOTHING


def _times(world: CommandContext, left: Item, right: Item) -> Item:
    one, count = as_text(left), _numbers(flatten(right))
    if one.known and count and one.text.isdigit():
        return CommandValue(str(int(one.text[:9]) * count[0]))
    return world.make(
        one.text * min(max(count[0], 0), 64) if count else "", one.sources, known=one.known and bool(count)
    )


def _cast(name: str, value: Item) -> Item:
    """`[char]99`, `[char[]](99, 100)`, `[string]…`."""
    if name in ("[char]", "[char[]]"):
        values = flatten(value)
        if name == "[char[]]" and len(values) == 1 and not values[0].text.isdigit():
            return [values[0].with_text(char) for char in values[0].text[:MAX_ITEMS]]
        chars = [
            CommandValue(chr(number) if 0 <= number < 0x110000 else "", (), known=True) for number in _numbers(values)
        ]
        return chars[0] if len(chars) == 1 else chars or value
    return value


_OPERATORS: dict[str, Callable[[CommandContext, Item, Item], Item]] = {
    "+": _plus, "join": _join, "f": _format, "replace": _replace, "creplace": _replace, "ireplace": _replace,
    "split": _split,
    "csplit": _split, "isplit": _split, "bxor": _xor, "..": _range, "index": _index, "*": _times, "as": lambda _w,
    left, _r: left,
}  # fmt: skip
