"""What is made when it is first used: patterns, since a scan needs few of them, and compiling takes longer than it."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

__all__ = ["lazy", "once"]

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  (used as a word before a function)
    """A property that is worked out once. `cached_property` does the same, but takes a lock before Python 3.12."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__

    def __get__(self, owner: Any, _: type) -> T:
        value = owner.__dict__[self._name] = self._function(owner)
        return value


class _Lazy:
    """Stands for a compiled pattern; what was asked of it once is at hand from then on."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of a text, compiled when it is first used."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
