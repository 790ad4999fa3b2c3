"""Views: a document with its disguises undone, and the texts that were hidden or encoded in it."""

from msgspec import Struct

from clawft.scan.documents import Document
from clawft.scan.facts import Fact

__all__ = ["View", "undisguise"]


class View(Struct):
    """A document as it is understood, what was hidden in it, and what its encoded parts hold."""

    document: Document
    facts: list[Fact]
    children: list[Document]


def undisguise(document: Document) -> View:
    """Undo what keeps a reader, or a rule, from seeing the text as it acts."""
    return View(document, [], [])
