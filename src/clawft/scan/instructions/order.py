"""An order: what a sentence asks for, before it is bound to a document."""

from msgspec import Struct

from clawft.scan.facts import Kind

__all__ = ["Order"]


class Order(Struct, frozen=True):
    """One thing a sentence asks for: `via` are its words, `start` is where they stand in the sentence."""

    kind: Kind
    target: str
    start: int
    via: str
    sources: tuple["Order", ...] = ()
