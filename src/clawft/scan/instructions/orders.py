"""From prose to facts: every block that could hold an order is cut into sentences and read by the grammars."""

import re

from msgspec import structs

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
    unseen,
)
from clawft.scan.instructions.mention import is_mention, is_negated, is_quoted, is_quoted_line, is_reported
from clawft.scan.instructions.nearby import HIDDEN
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.patterns import Index, Phrase, begins
from clawft.scan.instructions.segments import Part
from clawft.scan.instructions.sentences import Block, Sentence, find_offset

__all__ = ["find_orders"]

MAX_FACTS = 400
_OUTSIDE = re.compile(r"/|c:")
_PLACE = re.compile(r"/|c:|https?://")


_KINDS = {
    id(one): grammar.KIND
    for grammar in (override, conceal, bypass, obey, tamper, sabotage, unseen)
    for one in grammar.PHRASES
}
_SEEN = Index([one for grammar in (override, conceal, bypass, obey, tamper, sabotage) for one in grammar.PHRASES])
_UNSEEN = Index(unseen.PHRASES)
# Their orders are themselves negations: "do not tell the user".
_NEGATIVE = frozenset({Kind.CONCEAL, Kind.BYPASS})


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
        self.hidden = not HIDDEN.isdisjoint(document.origin)
        self.facts: list[Fact] = []
        self.headings: tuple[str, ...] = ()
        self.section: list[Block] = []
        self.lead = ""

    def read(self, part: Part) -> None:
        """Read a block of prose, unless its words cannot make an order."""
        if part.headings != self.headings:
            self.close_section()
            self.headings, self.lead = part.headings, ""
        text = self.document.text[part.start : part.end]
        lower = text.lower()
        heads = begins(lower)
        block = Block(part, text, self.lead)
        if not prerequisite.HEADS.isdisjoint(heads):
            self.section.append(block)
        if self._select(heads, lower):
            self._read_phrases(block)
        if exfiltration.could_match(lower, heads):
            for order, sentence in exfiltration.find(block.sentences):
                self._keep(block, sentence, order)
        if tongues.could_match(lower):
            for sentence in block.sentences:
                for order in tongues.find(sentence.text):
                    self._keep(block, sentence, order, negative=True)
        self.lead = text[-300:] if part.kind == "prose" and text.rstrip(" *_\n\r").endswith(":") else ""

    def _select(self, heads: set[str], lower: str) -> list[Phrase]:
        return _SEEN.select(heads, lower) + (_UNSEEN.select(heads, lower) if self.hidden else [])

    def _read_phrases(self, block: Block) -> None:
        for sentence in block.sentences:
            seen = set()
            for one in self._select(begins(sentence.text), sentence.text):
                kind = _KINDS[id(one)]
                if (kind, one.target) not in seen and (match := one.pattern.search(sentence.text)):
                    if kind is not Kind.TAMPER:
                        seen.add((kind, one.target))
                    order = Order(kind, self._find_target(kind, one, match), match.start(), match[0])
                    self._keep(
                        block, sentence, order, negative=kind in _NEGATIVE and not match[0].startswith("without")
                    )

    def _find_target(self, kind: Kind, one: Phrase, match: re.Match[str]) -> str:
        """What an order is about: what its phrase stands for, or the place or file that it names."""
        groups = [group for group in match.groups() if group]
        if kind is Kind.HIDDEN:
            return self.document.origin[-1]
        if kind is Kind.OBEY:
            return next((group for group in groups if _PLACE.match(group)), "").rstrip(".,;:`'\"")
        return one.target or groups[-1]

    def _keep(self, block: Block, sentence: Sentence, order: Order, *, negative: bool = False) -> None:
        shown = self._is_shown(block, sentence, order, negative)
        self._add(order, self._line(sentence, order.start), shown)

    def _is_shown(self, block: Block, sentence: Sentence, order: Order, negative: bool) -> bool:
        """Whether an order is only mentioned: by where it stands, or by the words around it."""
        text, start = sentence.text, order.start
        if self.document.mention or is_quoted_line(self._raw_line(sentence.start)):
            return True
        if order.kind is Kind.OBEY and _OUTSIDE.match(order.target):
            return is_negated(text, start)
        if is_quoted(text, start, start + len(order.via)):
            return True
        if is_reported(text, start) or (not negative and is_negated(text, start)):
            return True
        headings = () if block.part.kind == "frontmatter" else block.part.headings
        return is_mention(headings, block.lead) or is_mention((), block.lead_to(sentence))

    def _add(self, order: Order, line: int, shown: bool) -> None:
        if len(self.facts) >= MAX_FACTS:
            return
        document = self.shown if shown else self.document
        sources = tuple(Fact(one.kind, one.target, document, line, one.via) for one in order.sources)
        self.facts.extend(sources)
        self.facts.append(Fact(order.kind, order.target, document, line, order.via[:160], sources))

    def _line(self, sentence: Sentence, at: int) -> int:
        raw = self.document.text[sentence.start : sentence.end]
        return self.document.line_at(sentence.start + find_offset(raw, sentence.text, at))

    def _raw_line(self, offset: int) -> str:
        """The line on which a character stands, as far as it matters."""
        text = self.document.text
        begin = text.rfind("\n", max(0, offset - 400), offset) + 1 or max(0, offset - 400)
        end = text.find("\n", offset, offset + 600)
        return text[begin : end if end >= 0 else offset + 600]

    def close_section(self) -> None:
        """Read the section as a whole: a fake prerequisite is spread over its sentences."""
        section, self.section = self.section, []
        if any("://" in block.text or "](" in block.text for block in section):
            for order, block, sentence in prerequisite.find(section, self.headings):
                shown = self.document.mention or is_mention(self.headings, block.lead)
                self._add(order, self._line(sentence, 0), shown)
