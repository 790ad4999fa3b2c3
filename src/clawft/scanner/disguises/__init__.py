"""Disguises: a document with them undone, and the texts that were hidden or encoded in it."""

from msgspec import Struct, structs

from clawft.scanner.disguises.encodings import find_encoded, find_escapes, find_signs
from clawft.scanner.disguises.rot13 import find_turned
from clawft.scanner.disguises.steganography import find_padding
from clawft.scanner.facts import Document, Fact

__all__ = ["UndisguisedDocument", "undisguise"]


class UndisguisedDocument(Struct):
    """A document as it is understood, what was hidden in it, and what its encoded parts hold."""

    document: Document
    facts: list[Fact]
    children: list[Document]


def undisguise(document: Document) -> UndisguisedDocument:
    """Undo what keeps a reader, or a rule, from seeing the text as it acts. Line breaks stay where they are."""
    text = document.text
    facts: list[Fact] = []
    children: list[Document] = []
    if document.language == "binary" or not text:
        return UndisguisedDocument(document, facts, children)
    if not text.isascii() or "\x1b" in text or "\b" in text or "\r" in text:
        from clawft.scanner.disguises.unicode import undisguise_text

        document = undisguise_text(document, facts, children)
    data = document.text.encode("utf-8", "replace")
    find_padding(document, data, facts, children)
    if not document.searched:
        signs = find_signs(data.lower())
        everything = find_encoded(document, data, signs, facts, children)
        everything &= find_escapes(document, data, signs, children)
        everything &= find_turned(document, data, signs, children)
        structs.force_setattr(document, "searched", everything)
    return UndisguisedDocument(document, facts, children)
