"""Views: a document with its disguises undone, and the texts that were hidden or encoded in it."""

from msgspec import Struct

from clawft.scan.documents import Document
from clawft.scan.facts import Fact
from clawft.scan.views.encoded import find_encoded
from clawft.scan.views.escapes import find_escapes
from clawft.scan.views.padding import find_padding
from clawft.scan.views.turned import find_turned

__all__ = ["View", "undisguise"]


class View(Struct):
    """A document as it is understood, what was hidden in it, and what its encoded parts hold."""

    document: Document
    facts: list[Fact]
    children: list[Document]


def undisguise(document: Document) -> View:
    """Undo what keeps a reader, or a rule, from seeing the text as it acts. Line breaks stay where they are."""
    text = document.text
    facts: list[Fact] = []
    children: list[Document] = []
    if document.language == "binary" or not text:
        return View(document, facts, children)
    if not text.isascii() or "\x1b" in text or "\b" in text or "\r" in text:
        from clawft.scan.views.invisible import clear_text

        document = clear_text(document, facts, children)
    find_padding(document, facts, children)
    data = document.text.encode("utf-8", "replace")
    find_encoded(document, data, facts, children)
    find_escapes(document, data, children)
    find_turned(document, data, children)
    return View(document, facts, children)
