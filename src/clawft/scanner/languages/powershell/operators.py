"""Operators of PowerShell over constants: joined, formatted, replaced, cast; what is not known flows on."""

import re
from collections.abc import Callable, Iterable

from clawft.scan.languages.commands import NOTHING, Value, World
from clawft.scan.languages.powershell.values import Item, sources_in

__all__ = ["MAX_ITEMS", "apply_operator", "as_text", "flatten"]

MAX_ITEMS = 20_000
_HOLE = re.compile(r"\{(\d{1,3})(?:[,:][^{}]{0,20})?\}")


def flatten(value: "Item | Iterable[Item]") -> list[Value]:
    """A value as a flat list."""
    if isinstance(value, Value):
        return [value]
    flat: list[Value] = []
    for one in value:
        if isinstance(one, Value):
            flat.append(one)
        else:
            flat.extend(one)
        if len(flat) > MAX_ITEMS:
            break
    return flat


def as_text(value: Item) -> Value:
    """A value as one text, the items of a list with blanks between them."""
    if isinstance(value, Value):
        return value
    return Value(" ".join(one.text for one in value)[: 1 << 18], sources_in(value), all(one.known for one in value))


def apply_operator(world: World, name: str, left: Item, right: Item) -> Item:
    """What an operator gives."""
    handler = _OPERATORS.get(name)
    if handler is not None:
        return handler(world, left, right)
    if name.startswith("["):
        return _cast(name, left)
    values = [*flatten(left), *flatten(right)]
    return Value("", sources_in(values), known=False)


def _plus(world: World, left: Item, right: Item) -> Item:
    if isinstance(left, list):
        return [*left, *flatten(right)][:MAX_ITEMS]
    one, two = as_text(left), as_text(right)
    return world.make(one.text + two.text, sources_in((one, two)), known=one.known and two.known)


def _join(world: World, left: Item, right: Item) -> Item:
    values = flatten(left)
    glue = as_text(right).text if right is not NOTHING else ""
    return world.make(glue.join(one.text for one in values), sources_in(values), known=all(one.known for one in values))


def _format(world: World, left: Item, right: Item) -> Item:
    pattern, values = as_text(left), flatten(right)
    known = pattern.known and all(one.known for one in values)
    text = _HOLE.sub(lambda hole: values[int(hole[1])].text if int(hole[1]) < len(values) else "", pattern.text)
    return world.make(text, sources_in((pattern, *values)), known=known)


def _replace(world: World, left: Item, right: Item) -> Item:
    text, pair = as_text(left), flatten(right)
    old, new = (pair[0].text if pair else ""), (pair[1].text if len(pair) > 1 else "")
    plain = re.sub(r"\\(.)", r"\1", old)
    if re.search(r"(?<!\\)[*+?^$\[\](){}|.]", old) or not plain:
        return Value(text.text, text.sources, known=False)
    return world.make(
        re.sub(re.escape(plain), lambda _: new, text.text, flags=re.IGNORECASE), text.sources, known=text.known
    )


def _split(_world: World, left: Item, right: Item) -> Item:
    text = as_text(left)
    mark = re.sub(r"\\(.)", r"\1", flatten(right)[0].text if right is not NOTHING and flatten(right) else "")
    parts = text.text.split(mark) if mark else text.text.split()
    return [Value(one, text.sources, text.known) for one in parts[:MAX_ITEMS]]


def _numbers(values: Iterable[Value]) -> list[int]:
    return [int(one.text) for one in values if re.fullmatch(r"-?\d{1,9}", one.text.strip())]


def _xor(_world: World, left: Item, right: Item) -> Item:
    key = _numbers(flatten(right))
    if not key:
        return Value("", sources_in(flatten(left)), known=False)
    return [Value(str(one ^ key[0])) for one in _numbers(flatten(left))] or NOTHING


def _range(_world: World, left: Item, right: Item) -> Item:
    ends = _numbers((as_text(left), as_text(right)))
    if len(ends) < 2:
        return NOTHING
    low, high = ends
    step = 1 if high >= low else -1
    return [Value(str(one)) for one in range(low, high + step, step)[:4096]]


def _index(_world: World, left: Item, right: Item) -> Item:
    places = _numbers(flatten(right))
    if not places:
        values = flatten(left)
        return Value("", sources_in(values), known=False)
    items = [Value(char, left.sources, left.known) for char in left.text] if isinstance(left, Value) else left
    picked = [items[place] for place in places[:4096] if -len(items) <= place < len(items)]
    return picked[0] if len(picked) == 1 else picked or NOTHING


def _times(world: World, left: Item, right: Item) -> Item:
    one, count = as_text(left), _numbers(flatten(right))
    if one.known and count and one.text.isdigit():
        return Value(str(int(one.text[:9]) * count[0]))
    return world.make(
        one.text * min(max(count[0], 0), 64) if count else "", one.sources, known=one.known and bool(count)
    )


def _cast(name: str, value: Item) -> Item:
    """`[char]99`, `[char[]](99, 100)`, `[string]…`."""
    if name in ("[char]", "[char[]]"):
        values = flatten(value)
        if name == "[char[]]" and len(values) == 1 and not values[0].text.isdigit():
            return [Value(char, values[0].sources, values[0].known) for char in values[0].text[:MAX_ITEMS]]
        chars = [Value(chr(one) if 0 <= one < 0x110000 else "", (), known=True) for one in _numbers(values)]
        return chars[0] if len(chars) == 1 else chars or value
    return value


_OPERATORS: dict[str, Callable[[World, Item, Item], Item]] = {
    "+": _plus, "join": _join, "f": _format, "replace": _replace, "creplace": _replace, "ireplace": _replace,
    "split": _split,
    "csplit": _split, "isplit": _split, "bxor": _xor, "..": _range, "index": _index, "*": _times, "as": lambda _w,
    left, _r: left,
}  # fmt: skip
