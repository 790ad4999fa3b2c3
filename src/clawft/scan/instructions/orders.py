"""From prose to facts: every block that could hold an order is cut into sentences and read by the grammars."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, structs

from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.instructions import (
    bypass,
    conceal,
    exfiltration,
    obey,
    override,
    prerequisite,
    sabotage,
    tamper,
    tongues,
)
from clawft.scan.instructions.mention import is_mention, is_negated, is_quoted, is_quoted_line, is_reported
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.segments import Part
from clawft.scan.instructions.sentences import Block, Sentence, split_sentences

__all__ = ["find_orders"]

MAX_FACTS = 400
_WORD = re.compile(r"[a-z]{3,}")
_FOREIGN = re.compile(r"[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af\u0600-\u06ff]|[à-öø-ÿ]")


_OUTSIDE = re.compile(r"/|c:")


class _Grammar(Struct, frozen=True):
    """How one kind of order is found: words without which it cannot be, and the reading of one sentence."""

    words: frozenset[str]
    find: Callable[[str], Iterator[Order]]
    keeps_negated: bool = False  # its orders are themselves negations: "do not tell the user"


_GRAMMARS = (
    _Grammar(override.WORDS, override.find),
    _Grammar(conceal.WORDS, conceal.find, keeps_negated=True),
    _Grammar(bypass.WORDS, bypass.find, keeps_negated=True),
    _Grammar(obey.WORDS, obey.find),
    _Grammar(tamper.WORDS, tamper.find),
    _Grammar(sabotage.WORDS, sabotage.find),
)
_ALL_WORDS = frozenset().union(*(one.words for one in _GRAMMARS), exfiltration.WORDS, prerequisite.WORDS, tongues.WORDS)


def find_orders(document: Document, parts: list[Part]) -> list[Fact]:
    """The orders in the prose of a document, as facts; what is only mentioned belongs to a document that says so."""
    reader = _Reader(document)
    for part in parts:
        reader.read(part)
    reader.close_section()
    return reader.facts


class _Reader:
    """The state of reading one document: its facts so far, and the section that is open."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.shown = document if document.mention else structs.replace(document, mention=True)
        self.facts: list[Fact] = []
        self.headings: tuple[str, ...] = ()
        self.section: list[Block] = []
        self.last = ""

    def read(self, part: Part) -> None:
        text = self.document.text[part.start : part.end]
        if part.headings != self.headings:
            self.close_section()
            self.headings = part.headings
            self.last = ""
        lower = text.lower()
        words = _ALL_WORDS.intersection(_WORD.findall(lower))
        foreign = not lower.isascii() and _FOREIGN.search(lower) is not None
        if words or foreign:
            mention = self.document.mention or (
                part.kind != "frontmatter" and is_mention(part.headings, self.last if part.kind != "heading" else "")
            )
            block = Block(part, text, list(split_sentences(text, part.start)), mention)
            if words & prerequisite.WORDS:
                self.section.append(block)
            self._read_block(block, words, foreign)
        self.last = text[-300:] if part.kind == "prose" and text.rstrip().endswith(":") else ""

    def _read_block(self, block: Block, words: frozenset[str], foreign: bool) -> None:
        if words & exfiltration.WORDS:
            for order, sentence in exfiltration.find(block.sentences):
                self._keep(block, sentence, order, keeps_negated=False)
        grammars = [one for one in _GRAMMARS if not one.words.isdisjoint(words)]
        for sentence in block.sentences:
            for grammar in grammars:
                for order in grammar.find(sentence.text):
                    self._keep(block, sentence, order, keeps_negated=grammar.keeps_negated)
            if foreign or not tongues.WORDS.isdisjoint(words):
                for order in tongues.find(sentence.text):
                    self._keep(block, sentence, order, keeps_negated=True)

    def _keep(self, block: Block, sentence: Sentence, order: Order, *, keeps_negated: bool) -> None:
        self._add(order, self._line(sentence, order.start), self._is_shown(block, sentence, order, keeps_negated))

    def _is_shown(self, block: Block, sentence: Sentence, order: Order, keeps_negated: bool) -> bool:
        """Whether an order is only mentioned: by where it stands, or by the words around it."""
        text, start = sentence.text, order.start
        if self.document.mention or is_quoted(text, start, start + len(order.via)):
            return True
        if is_quoted_line(self._raw_line(sentence.start)):
            return True
        if _OUTSIDE.match(order.target) and order.kind is Kind.OBEY:
            return is_negated(text, start)
        if block.mention or is_reported(text, start) or (not keeps_negated and is_negated(text, start)):
            return True
        return is_mention((), _lead(block, sentence))

    def _add(self, order: Order, line: int, shown: bool) -> None:
        document = self.shown if shown else self.document
        if len(self.facts) >= MAX_FACTS:
            return
        sources = tuple(Fact(one.kind, one.target, document, line, one.via) for one in order.sources)
        fact = Fact(order.kind, order.target, document, line, order.via[:160], sources)
        self.facts.extend(sources)
        self.facts.append(fact)

    def _line(self, sentence: Sentence, at: int) -> int:
        """The line of a place in a sentence: as many words into the text as into what was read."""
        if self.document.flat:
            return self.document.line
        raw = self.document.text[sentence.start : sentence.end]
        if "\n" not in raw.strip():
            offset = len(raw) - len(raw.lstrip())
            return self.document.line_at(sentence.start + offset)
        count = sentence.text.count(" ", 0, at)
        lead = len(raw) - len(raw.lstrip(" \t\r\n*>|#"))
        gaps = re.finditer(r"[\s*>|#]+|__+", raw[lead:])
        offset = 0
        for _ in range(count):
            gap = next(gaps, None)
            if gap is None:
                break
            offset = gap.end()
        return self.document.line_at(sentence.start + lead + offset)

    def _raw_line(self, offset: int) -> str:
        """The start of the line on which a character stands, and a little beyond."""
        text = self.document.text
        begin = text.rfind("\n", max(0, offset - 400), offset) + 1 or max(0, offset - 400)
        end = text.find("\n", offset, offset + 600)
        return text[begin : end if end >= 0 else offset + 600]

    def close_section(self) -> None:
        """Read the section as a whole: a fake prerequisite is spread over its sentences."""
        if self.section:
            for order, block, sentence in prerequisite.find(self.section, self.headings):
                self._add(order, self._line(sentence, 0), block.mention)
            self.section = []


def _lead(block: Block, sentence: Sentence) -> str:
    """The last sentence of a block before one that ends with a colon: it leads to a list."""
    lead = ""
    for one in block.sentences:
        if one is sentence:
            break
        if one.text.endswith(":"):
            lead = one.text
    return lead
