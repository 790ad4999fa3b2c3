"""Office files: the text of their parts, macros, and templates or objects that are fetched from elsewhere."""

import re
from collections.abc import Iterator
from html import unescape

from clawft.scan.facts import Kind
from clawft.scan.intake.parts import Mark, Member, Part, Passage, Room, Unread
from clawft.scan.intake.programs import find_strings

__all__ = ["open_ole", "open_part", "open_rtf"]

MAX_TEXT = 400 << 10
_READ = re.compile(r"(?:word|ppt|xl|docProps|visio)/.*\.xml$|(?:content|styles|meta)\.xml$")
_BREAK = re.compile(r"</(?:w:p|a:p|si|row|text:p|text:h|c)>|<w:(?:br|tab)/>")
_COMMENT = re.compile(r"<!--(.{3,4000}?)-->", re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,4000}>")
_EXTERNAL = re.compile(r"<Relationship\b[^>]{0,2000}TargetMode=\"External\"[^>]{0,2000}>", re.IGNORECASE)
_FIELD = re.compile(
    r"\b(?:DDEAUTO|DDE)\b[^<]{0,500}|=?\s*(?:cmd|powershell|mshta|rundll32)\|[^<]{0,300}", re.IGNORECASE
)


def open_part(name: str, content: bytes) -> Iterator[Part]:
    """One part of an office file: what a reader sees of it, and what works without being seen."""
    if name.endswith(".rels"):
        yield from _find_external(name, content[:MAX_TEXT].decode("utf-8", "replace"))
    elif _READ.search(name):
        xml = content[: 4 * MAX_TEXT].decode("utf-8", "replace")
        yield from (Passage(one.strip(), "", "html-comment", name) for one in _COMMENT.findall(xml)[:50])
        if field := _FIELD.search(xml):
            yield Mark(Kind.EXEC, unescape(field[0]), "a field that starts a program", name)
        text = unescape(_TAG.sub("", _BREAK.sub("\n", xml)))[:MAX_TEXT].strip()
        if text:
            yield Passage(text, "markdown", "office-text", name)
        if "w:vanish" in xml:
            yield Mark(Kind.HIDDEN, "hidden-run", "text that the document does not show", name)
        if len(content) > 4 * MAX_TEXT:
            yield Unread("Only the beginning of this part was read", name)
    else:
        yield Member(name, content)


def _find_external(name: str, xml: str) -> Iterator[Part]:
    for relation in _EXTERNAL.findall(xml)[:200]:
        kind = re.search(r'Type="[^"]*/(\w+)"', relation)
        target = re.search(r'Target="([^"]{1,500})"', relation)
        if kind and target and kind[1] in ("attachedTemplate", "oleObject", "frame", "subDocument", "externalLink"):
            yield Mark(Kind.FETCH, unescape(target[1]), f"a remote {kind[1]}", name)


def open_ole(data: bytes, room: Room) -> Iterator[Part]:
    """An old office file or the macros of a new one: macros are named, and the readable strings kept."""
    del room
    if b"VBA" in data or b"V\0B\0A\0" in data or b"Macros" in data or b"M\0a\0c\0r\0o\0s\0" in data:
        yield Mark(Kind.BINARY, "Office macros", "macros that run inside an office program")
        automatic = re.search(rb"Auto_?Open|Document_Open|Workbook_Open|AutoExec", data)
        if automatic:
            yield Mark(Kind.HOOK, f"office:{automatic[0].decode()}", "a macro that runs when the file is opened")
    yield Unread("An office file of the old, binary form: only its strings were read")
    if strings := find_strings(data):
        yield Passage(strings, "", "strings")


def open_rtf(data: bytes, room: Room) -> Iterator[Part]:
    """Rich text: the words without the commands between them."""
    del room
    if re.search(rb"\\objdata|\\objupdate|\\object\b", data):
        yield Mark(Kind.BINARY, "RTF object", "an object embedded in rich text")
        yield Unread("An object embedded in rich text was not read")
    text = re.sub(r"\\'[0-9a-f]{2}|\\[a-z]{1,32}-?\d{0,10} ?|[{}]", "", data[:MAX_TEXT].decode("latin-1"))
    if text.strip():
        yield Passage(text, "", "office-text")
