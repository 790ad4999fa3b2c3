"""Text inside a block: emphasis, code and links to styled spans; spans to lines that fit; lines to terminal text."""

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from clawft.cli.output import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


BOLD, DIM = "1", "2"
_CODE = "36"  # cyan: one of the sixteen colours that the person's theme sets
_MARKS = {"strong_open": BOLD, "em_open": "3", "link_open": "4"}
_MAX_INLINE = 16 * 1024  # characters: nobody writes such a paragraph, and parsing it takes long
_FILLED = (60, 130)  # characters of a line that people and editors fill
# Chinese and Japanese text has no spaces: a line may end after any character of it, except before these.
_IDEOGRAPH = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_NO_START = (
    "\u200d\u3099\u309a\ufe0e\ufe0f\u3001\u3002\u3005\u3009\u300b"
    "\u300d\u300f\u3011\u3015\u30fc\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3d\uff5d"
)
_PIECES = re.compile(rf"\n|[ \t]+|[{_IDEOGRAPH}]|[^\s{_IDEOGRAPH}]+|\s")


class TextSpan(NamedTuple):
    """A text and the numbers of its terminal style, '' for none."""

    text: str
    style: str = ""


def cells(text: str) -> int:
    """Columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def parse_inline(text: str, style: str = "") -> list[TextSpan]:
    """The spans of a block's text. Where it is too long to parse, it is shown as written."""
    if len(text) > _MAX_INLINE:
        return [TextSpan(text, style)]
    tokens = _parser().parseInline(text)[0].children or []
    return [TextSpan(clean(span.text), span.style) for span in _spans(tokens, style) if span.text]


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # No `~~`: without colour, text that was struck would read as said.
    return MarkdownIt("commonmark", {"html": True})


def _spans(tokens: "Iterable[Token]", base: str) -> Iterator[TextSpan]:
    active = [base] if base else []
    targets: list[str] = []
    for token in tokens:
        style = ";".join(active)
        if token.type in _MARKS:
            active.append(_MARKS[token.type])
            if token.type == "link_open":
                targets.append("" if token.markup == "autolink" else _target(token, "href"))
        elif token.type.endswith("_close"):
            active.pop()
            if token.type == "link_close":
                yield TextSpan(targets.pop(), DIM)
        elif token.type == "image":
            yield TextSpan(token.content or "image", style)
            yield TextSpan(_target(token, "src"), DIM)
        elif token.type in ("softbreak", "hardbreak") or re.fullmatch(r"<br ?/?>", token.content):
            yield TextSpan("\n")
        else:
            yield TextSpan(token.content, ";".join([*active, _CODE]) if token.type == "code_inline" else style)


def _target(token: "Token", name: str) -> str:
    """Render a link's target as text: not every terminal supports links."""
    title = token.attrGet("title")
    return f" ({token.attrGet(name) or ''})" if not title else f' ({token.attrGet(name)} "{title}")'


def unfold(text: str) -> str:
    """A paragraph whose writer filled its lines becomes one line; where lines end on purpose, they stay."""
    lines = text.split("\n")
    longest = max(map(len, lines))
    if not _FILLED[0] <= longest <= _FILLED[1] or any(line.endswith(("  ", "\\")) for line in lines):
        return text
    breaks = list(pairwise(lines))
    full = all(len(line) + 1 + len(after.split(" ", 1)[0]) > longest for line, after in breaks)
    in_sentence = any(line[-1] not in ".:!?" and after[0].islower() for line, after in breaks)
    return " ".join(line.rstrip() for line in lines) if full and in_sentence else text


def wrap(spans: Iterable[TextSpan], width: int | None) -> list[list[TextSpan]]:
    """Lines of at most `width` columns. A word that is longer stays whole, so that it can be copied."""
    lines = _Lines(width)
    for text, style in spans:
        for piece in _PIECES.findall(text):
            lines.add(piece, style)
    lines.end_line()
    return lines.done


class _Lines:
    """Fills lines with words: pieces between which no line may end."""

    def __init__(self, width: int | None) -> None:
        self.done: list[list[TextSpan]] = []
        self._width = width
        self._line: list[TextSpan] = []
        self._used = 0
        self._space: TextSpan | None = None
        self._word: list[TextSpan] = []
        self._breakable = False  # the last piece was an ideograph

    def add(self, piece: str, style: str) -> None:
        if piece == "\n":
            self.end_line()
        elif piece.isspace() and piece != "\u00a0":
            self._end_word()
            self._space = TextSpan(" ", style)
        else:
            ideograph = re.match(f"[{_IDEOGRAPH}]", piece) is not None
            if (ideograph or self._breakable) and piece[0] not in _NO_START:
                self._end_word()
            self._breakable = ideograph
            self._word.append(TextSpan(piece, style))

    def end_line(self) -> None:
        self._end_word()
        self.done.append(self._line)
        self._line, self._used, self._space = [], 0, None

    def _end_word(self) -> None:
        if not self._word:
            return
        size = sum(cells(span.text) for span in self._word)
        room = None if self._width is None else self._width - self._used - (self._space is not None)
        if self._line and room is not None and size > room:
            self.done.append(self._line)
            self._line, self._used = [], 0
        elif self._line and self._space:
            self._line.append(self._space)
            self._used += 1
        self._line += self._word
        self._used += size
        self._word, self._space, self._breakable = [], None, False


def trim(line: list[TextSpan]) -> list[TextSpan]:
    """A line without spaces at its end."""
    while line and not line[-1].text.strip():
        line = line[:-1]
    return [*line[:-1], *(TextSpan(span.text.rstrip(), span.style) for span in line[-1:])]


def paint(line: Iterable[TextSpan], *, colour: bool) -> str:
    """One line of terminal text; no style reaches past it."""
    if not colour:
        return "".join(span.text for span in line)
    parts: list[str] = []
    for style, text in _merged(line):
        parts.append(f"\x1b[{style}m{text}\x1b[0m" if style else text)
    return "".join(parts)


def _merged(line: Iterable[TextSpan]) -> Iterator[tuple[str, str]]:
    style, texts = "", [""]
    for span in line:
        if span.style != style:
            if any(texts):
                yield style, "".join(texts)
            style, texts = span.style, []
        texts.append(span.text)
    if any(texts):
        yield style, "".join(texts)
