"""A deadline that stands still while a person is asked."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

__all__ = ["Clock"]


class Clock:
    """The clock of a scope with a deadline. Several may stop it at once: it goes on when the last of them lets it."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope
        self._left = math.inf
        self._stops = 0

    @contextmanager
    def stopped(self) -> Iterator[None]:
        if not self._stops:
            self._left = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf
        self._stops += 1
        try:
            yield
        finally:
            self._stops -= 1
            if not self._stops:
                self._scope.deadline = anyio.current_time() + self._left
