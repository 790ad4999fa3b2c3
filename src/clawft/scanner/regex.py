"""Regular expressions that are compiled at first use, automata of words, lazy properties, and word lists."""

import re
from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick


def words(text: str) -> frozenset[str]:
    """The words of a text that lists them."""
    return frozenset(text.split())


@cache
def make_automaton(words: tuple[bytes, ...]) -> "BytesAhoCorasick":
    """The automaton that finds all of some words in one pass."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation  # loaded when a text is read

    return BytesAhoCorasick(words, implementation=Implementation.DFA)


T = TypeVar("T")


class LazyProperty(Generic[T]):
    """A property that is worked out once. `cached_property` does the same, but takes a lock before Python 3.12."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__

    def __get__(self, owner: Any, _: type) -> T:
        value = owner.__dict__[self._name] = self._function(owner)
        return value


class LazyPattern:
    """A pattern that is compiled at first use; each attribute is looked up once."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.source, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of a text, compiled when it is first used."""
    return cast("re.Pattern[str]", LazyPattern(source, flags))
