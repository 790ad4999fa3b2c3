"""Patterns that are compiled when they are first used: a scan needs few of them, and compiling takes longer than it."""

import re
from functools import cached_property
from typing import Any, cast

__all__ = ["lazy"]


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
