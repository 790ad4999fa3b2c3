"""The rules, one per file: a file dropped here is a rule."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from clawft.scan.rule import Rule

__all__ = ["load_rules"]


@cache
def load_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the ids."""
    names = sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    rules = [import_module(f"{__name__}.{name}").RULE for name in names]
    return tuple(sorted(rules, key=lambda rule: rule.id))
