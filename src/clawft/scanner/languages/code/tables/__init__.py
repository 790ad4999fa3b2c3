"""What the calls of each language do: one table per language, read when the language turns up.

A row is an effect (a key of effects.EFFECTS, and after a colon what it needs to know) and the names that have it. A
name is a dotted path from a module or a type on; one that begins with a dot is a method of an object that is not known;
one that ends in `()` is what such a call gives; one that ends in `=` is a property that is set.
"""

from functools import cache
from importlib import import_module

__all__ = ["find_names", "find_spec"]

Spec = tuple[str, str]
_FILES = {"kotlin": "java", "groovy": "java"}
_MAX_CACHE = 50_000
_found: dict[str, dict[str, Spec | None]] = {}


@cache
def find_names(language: str) -> dict[str, Spec]:
    """All names of a language that do something, and what."""
    name = _FILES.get(language, language)
    table: dict[str, Spec] = {}
    for effect, names in import_module(f"{__name__}.{name}").CALLS.items():
        kind, _, argument = effect.partition(":")
        for one in names.split():
            table[one] = (kind, argument)
    return table


def find_spec(language: str, ref: str) -> Spec | None:
    """What a call of this name does in a language, if it is known to do anything."""
    if not ref:
        return None
    found = _found.get(language)
    if found is None:
        found = _found[language] = {}
    if ref not in found:
        if len(found) > _MAX_CACHE:
            found.clear()
        found[ref] = _search(find_names(language), ref)
    return found[ref]


def _search(table: dict[str, Spec], ref: str) -> Spec | None:
    if ref in table:
        return table[ref]
    parts = ref.split(".")
    for start in range(1, len(parts) - 1):
        found = table.get(".".join(parts[start:]))
        if found:
            return found
    if len(parts) > 1:
        return table.get("." + parts[-1])
    return None
