"""The rules, grouped by what they guard against: each module here declares its own."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from clawft.scanner.rule import ScanRule

__all__ = ["load_rules"]


@cache
def load_rules() -> tuple[ScanRule, ...]:
    """Load every rule, in the order of the ids."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    rules = [value for module in modules for value in vars(module).values() if isinstance(value, ScanRule)]
    return tuple(sorted(rules, key=lambda rule: rule.id))
