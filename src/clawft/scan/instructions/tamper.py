from collections.abc import Iterator

from clawft.scan.instructions.order import Order

__all__ = ["WORDS", "find"]

WORDS: frozenset[str] = frozenset()


def find(text: str) -> Iterator[Order]:
    yield from ()
