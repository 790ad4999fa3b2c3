"""The rules, grouped by what they guard against: each module here ends with a tuple of its rules."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from clawft.scanner.rule import ScanRule

__all__ = ["load_rules"]


@cache
def load_rules() -> tuple[ScanRule, ...]:
    """Load every rule, in the order of the ids."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return tuple(sorted((rule for module in modules for rule in module.RULES), key=lambda rule: rule.id))
