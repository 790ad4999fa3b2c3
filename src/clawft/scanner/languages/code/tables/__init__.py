"""Tables of the effects of calls: one table per language, loaded when the language turns up.

A row is an effect (a key of EFFECTS, and after a colon what it needs to know) and the names that have it; a deeper line
continues it. A name is a dotted path from a module or a type on; one that begins with a dot is a method of an object
that is not known; one that ends in `()` is what such a call gives; one that ends in `=` is a property that is set.
"""

import re
from functools import cache
from importlib import import_module

__all__ = ["find_names", "find_spec"]

Spec = tuple[str, str]
_MODULES = {
    "python": "python",
    "javascript": "javascript",
    **dict.fromkeys(("c", "go", "rust", "nim", "swift"), "compiled"),
    **dict.fromkeys(("java", "kotlin", "groovy", "csharp", "dart", "elixir"), "managed"),
    **dict.fromkeys(("perl", "php", "ruby", "lua", "r"), "scripts"),
}
_SAME_CALLS = {"kotlin": "java", "groovy": "java"}
_MAX_CACHE = 50_000
_ROW = re.compile(r"\n {4}(?=\S)")
_found: dict[str, dict[str, Spec | None]] = {}


@cache
def find_names(language: str) -> dict[str, Spec]:
    """All names of a language that do something, and what."""
    module = import_module(f"{__name__}.{_MODULES[language]}")
    rows: str = getattr(module, f"{_SAME_CALLS.get(language, language).upper()}_CALLS")
    table: dict[str, Spec] = {}
    for row in _ROW.split(rows)[1:]:
        effect, _, *names = row.split()
        kind, _, argument = effect.partition(":")
        table.update(dict.fromkeys(names, (kind, argument)))
    return table


def find_spec(language: str, ref: str) -> Spec | None:
    """Find the effect of a call by its name in a language; None if it is not known to have any."""
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
