"""HTML, SVG and XML: their scripts as documents, what a reader would not see, and what their text asks for."""

import re
from collections.abc import Iterator
from html import unescape

from clawft.scanner.facts import Analysis, Document, Fact, Kind, make_child
from clawft.scanner.instructions import MarkdownPart, find_hidden_elements, find_orders
from clawft.scanner.regex import lazy

MAX_FINDS = 2_000
_SCRIPT = lazy(r"<script\b([^>]{0,2000})>", re.IGNORECASE)
_SOURCE = lazy(r"""\b(?:src|href|xlink:href)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""", re.IGNORECASE)
_HANDLER = lazy(r"""[\s"']on[a-z]{3,20}\s*=\s*("[^"]{1,20000}"|'[^']{1,20000}')""", re.IGNORECASE)
_ON = lazy(r"on[a-z]{3,20}\s*=\s*[\"']")  # quick to look for
_LINK = lazy(
    r"""\b(?:href|src|action|xlink:href|data)\s*=\s*("javascript:[^"]{1,20000}"|'javascript:[^']{1,20000}')""",
    re.IGNORECASE,
)
_REFRESH = lazy(
    r"""<meta\b[^>]{0,400}?http-equiv\s*=\s*["']?refresh[^>]{0,400}?url\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE
)
_FRAME = lazy(
    r"""<(?:iframe|embed|object|form)\b[^>]{0,2000}?\b(?:src|data|action)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""",
    re.IGNORECASE,
)
_TITLES = lazy(
    r"""\b(?:alt|title|content|aria-label|placeholder|data-[a-z-]{1,40})\s*=\s*("[^"]{40,4000}"|'[^']{40,4000}')""",
    re.IGNORECASE,
)
_MARK = lazy(r"<[^<>]{0,4000}>|<style\b", re.IGNORECASE)


def analyse(document: Document) -> Analysis:
    """The orders in the text of a page, where it leads, and the documents inside it."""
    text = document.text
    children = [*_scripts(document), *_comments(document), *_attributes(document)]
    for start, end in find_hidden_elements(text):
        children.append(make_child(document, text[start:end], "text", "hidden-span", start, flat=False))
    facts = list(_places(document))
    facts.extend(find_orders(document, list(_prose(document))))
    return Analysis(facts, children)


def _scripts(document: Document) -> Iterator[Document]:
    """The bodies of script elements; one that never ends goes to the end of the page."""
    text = document.text
    lower = text.lower()
    at = 0
    while match := _SCRIPT.search(text, at):
        end = lower.find("</script", match.end()) if len(lower) == len(text) else text.find("</script", match.end())
        end = end if end >= 0 else len(text)
        if "json" not in match[1].lower():
            language = "vbscript" if "vbs" in match[1].lower() else "javascript"
            yield make_child(document, text[match.end() : end], language, "script", match.end(), flat=False)
        at = end


def _comments(document: Document) -> Iterator[Document]:
    text, at = document.text, 0
    while (at := text.find("<!--", at)) >= 0:
        end = text.find("-->", at + 4)
        end = len(text) if end < 0 else end
        yield make_child(document, text[at + 4 : end], "markdown", "html-comment", at + 4, flat=False)
        at = end


def _attributes(document: Document) -> Iterator[Document]:
    """Code in event handlers and links, and long texts in attributes that are not drawn."""
    lower = document.text.lower()
    for pattern, language, how in (
        (_HANDLER if _ON.search(lower) else None, "javascript", "event-handler"),
        (_LINK if "javascript:" in lower else None, "javascript", "script-link"),
        (_TITLES, "text", "metadata"),
    ):
        if pattern is None:
            continue
        for count, match in enumerate(pattern.finditer(document.text)):
            if count >= MAX_FINDS:
                break
            value = unescape(match[1][1:-1])
            yield make_child(document, value.removeprefix("javascript:"), language, how, match.start(1))


def _places(document: Document) -> Iterator[Fact]:
    """Yield where a page takes code from, and where it sends its reader or a form."""
    text = document.text
    for match in _SCRIPT.finditer(text):
        if source := _SOURCE.search(match[1]):
            yield Fact(Kind.FETCH, _full(source[1]), document, document.line_at(match.start()), "script src")
    for pattern, via in ((_REFRESH, "meta refresh"), (_FRAME, "embedded")):
        for match in pattern.finditer(text):
            yield Fact(Kind.FETCH, _full(match[1]), document, document.line_at(match.start()), via)


def _full(address: str) -> str:
    return f"https:{address}" if address.startswith("//") else address


def _prose(document: Document) -> Iterator[MarkdownPart]:
    """The text between the marks, in blocks as long as no element begins."""
    text, at = document.text, 0
    if "<" not in text:
        yield MarkdownPart("prose", 0, len(text))
        return
    for match in _MARK.finditer(text):
        if match.start() - at > 12:
            yield MarkdownPart("prose", at, match.start())
        at = match.end()
    if len(text) - at > 12:
        yield MarkdownPart("prose", at, len(text))
