"""From prose to facts: every block that could hold an order is cut into sentences and read by the grammars."""

import re
from functools import cached_property

from msgspec import structs

from clawft.scanner.facts import Document, Fact, Kind
from clawft.scanner.instructions.against_user import ACTS, could_be_harmful, find_harmful_acts
from clawft.scanner.instructions.blocks import MarkdownPart
from clawft.scanner.instructions.context import HIDDEN, is_mention, is_negated, is_quoted, is_quoted_line, is_reported
from clawft.scanner.instructions.exfiltration import PLACE, VERB, find_addresses, find_send_orders, has_place
from clawft.scanner.instructions.foreign import HINTS, find_foreign_orders, is_foreign
from clawft.scanner.instructions.index import FREE, PhraseIndex, PhraseSearch, members
from clawft.scanner.instructions.override import (
    BYPASS_PHRASES,
    CONCEAL_PHRASES,
    OBEY_PHRASES,
    OVERRIDE_PHRASES,
    UNSEEN_PHRASES,
)
from clawft.scanner.instructions.patterns import Phrase, SentenceOrder
from clawft.scanner.instructions.prerequisite import (
    PREREQUISITE_COMBINATIONS,
    could_be_prerequisite,
    find_prerequisites,
)
from clawft.scanner.instructions.sabotage import SABOTAGE_PHRASES, TAMPER_PHRASES
from clawft.scanner.instructions.sentences import ProseBlock, Sentence, find_offset

MAX_FACTS = 400
_OUTSIDE = re.compile(r"/|c:")
# A place to get something from, or a person to ask for it.
_PLACED = re.compile(r"://|\]\(|@|mail")
_PLACE = re.compile(r"/|c:|https?://")


# Of two phrases that match the same words, the earlier one counts.
_GRAMMARS = (
    (OVERRIDE_PHRASES, Kind.OVERRIDE), (CONCEAL_PHRASES, Kind.CONCEAL), (BYPASS_PHRASES, Kind.BYPASS),
    (OBEY_PHRASES, Kind.OBEY), (TAMPER_PHRASES, Kind.TAMPER), (SABOTAGE_PHRASES, Kind.SABOTAGE),
    (UNSEEN_PHRASES, Kind.HIDDEN),
)  # fmt: skip
_PHRASES = [(phrase, kind) for phrases, kind in _GRAMMARS for phrase in phrases]
_SEEN = PhraseIndex([phrase for phrase, _ in _PHRASES if phrase not in UNSEEN_PHRASES])
_UNSEEN = PhraseIndex(UNSEEN_PHRASES)
_ACTS = PhraseIndex(ACTS)
_PLACE_NAMED = PhraseIndex([PLACE])
_FOREIGN_WORDS = PhraseIndex([HINTS])
_SENDING = PhraseIndex([VERB])
_PREREQUISITES = PhraseIndex(PREREQUISITE_COMBINATIONS)
_ADDRESS, _HOST = FREE
_PLACES = _PLACE_NAMED.set | _ADDRESS | _HOST
_WANTED = _SEEN.set | _UNSEEN.set | _ACTS.set | _PLACE_NAMED.set | _FOREIGN_WORDS.set | _PREREQUISITES.set
_RANKS = {PhraseIndex([phrase]).set.bit_length() - 1: rank for rank, (phrase, _) in enumerate(_PHRASES)}
# Their orders are themselves negations: "do not tell the user".
_NEGATIVE = frozenset({Kind.CONCEAL, Kind.BYPASS})


def find_orders(document: Document, parts: list[MarkdownPart]) -> list[Fact]:
    """The orders in the prose of a document, as facts; what is only mentioned belongs to a document that says so."""
    if not parts:
        return []
    reader = _Reader(document, parts)
    reader.read()
    return reader.facts


class _Reader:
    """The state of reading one document: its facts so far, and the blocks that were looked at."""

    def __init__(self, document: Document, parts: list[MarkdownPart]) -> None:
        self.document = document
        self.parts = parts
        self.reading = PhraseSearch(document.text, parts[-1].end)
        self.phrases = _SEEN.set | (0 if HIDDEN.isdisjoint(document.origin) else _UNSEEN.set)
        self.acts = _ACTS.set if "remark" not in document.origin else 0  # the remarks of a program are no running text
        self.facts: list[Fact] = []
        self.blocks: dict[int, ProseBlock] = {}

    @cached_property
    def shown(self) -> Document:
        return self.document if self.document.mention else structs.replace(self.document, mention=True)

    def read(self) -> None:
        """Read the blocks whose words could make an order, and the sections that could ask for something."""
        foreign = is_foreign(self.document.text)
        hits = iter(self._find_hits())
        offset, things = next(hits)
        opened = wanted = 0
        acts: list[int] = []
        headings: tuple[str, ...] = ()
        for number, part in enumerate(self.parts):
            if len(self.facts) >= MAX_FACTS:
                return
            if part.headings is not headings and part.headings != headings:
                self._read_section(opened, number, wanted, acts)
                headings, opened, wanted, acts = part.headings, number, 0, []
            while offset < part.start:
                offset, things = next(hits)
            found, union = [], 0
            while offset < part.end:
                found.append((offset, things))
                union |= things
                offset, things = next(hits)
            wanted |= union
            if union & self.acts and self._could_act(number):
                acts.append(number)
            if union & self.phrases:
                self._read_phrases(number, found, union & self.phrases)
            if union & _PLACES:
                self._read_sends(number, union)
            if union & _FOREIGN_WORDS.set or foreign:
                self._read_foreign(number, union)
        self._read_section(opened, len(self.parts), wanted, acts)

    def _find_hits(self) -> list[tuple[int, int]]:
        """Find where something stands that an order needs, and which orders need it; the last offset is behind it."""
        text = self.document.text
        hits = self.reading.find(_WANTED)
        if addresses := find_addresses(text):
            hits += [(offset, _ADDRESS if sure else _HOST) for offset, sure in addresses]
            hits.sort()
        hits.append((len(text) + 2, 0))
        return hits

    def _block(self, number: int) -> ProseBlock:
        if number not in self.blocks:
            part, lead = self.parts[number], ""
            if number and self.parts[number - 1].headings == part.headings:
                lead = self._opening(self.parts[number - 1])
            self.blocks[number] = ProseBlock(part, self.document.text[part.start : part.end], self.reading, lead)
        return self.blocks[number]

    def _opening(self, part: MarkdownPart) -> str:
        """The words of a block that lead to the next one."""
        text = self.document.text[part.start : part.end] if part.kind == "prose" else ""
        return text[-300:] if text.rstrip(" *_\n\r").endswith(":") else ""

    def _read_phrases(self, number: int, hits: list[tuple[int, int]], things: int) -> None:
        """Search each sentence of a block for the phrases whose words it has."""
        part = self.parts[number]
        things &= self.reading.could_match(part.start, part.end)
        if not things:
            return
        block, at, size = self._block(number), 0, len(hits)
        for sentence in block.sentences:
            own = 0
            while at < size and hits[at][0] < sentence.end:
                own |= hits[at][1]
                at += 1
            if own & things and len(self.facts) < MAX_FACTS:
                self._read_sentence(block, sentence, own & things)

    def _read_sends(self, number: int, things: int) -> None:
        """Search a block for orders to send something, when it has a place and a word of sending."""
        part = self.parts[number]
        could = self.reading.could_match(part.start, part.end)
        if not could & _SENDING.set:
            return
        block = self._block(number)
        if things & _ADDRESS or could & _PLACE_NAMED.set or has_place(block.text):
            for order, sentence in find_send_orders(block.sentences):
                self._keep(block, sentence, order)
                if len(self.facts) >= MAX_FACTS:
                    return

    def _read_foreign(self, number: int, things: int) -> None:
        block = self._block(number)
        if things & _FOREIGN_WORDS.set if block.text.isascii() else is_foreign(block.text):
            for sentence in block.sentences:
                for order in find_foreign_orders(sentence.text):
                    self._keep(block, sentence, order, negative=True)

    def _read_sentence(self, block: ProseBlock, sentence: Sentence, things: int) -> None:
        seen = set()
        found = sentence.could_match & things
        for rank in sorted(_RANKS[number] for number in members(found)):
            one, kind = _PHRASES[rank]
            if (kind, one.target) not in seen and (match := one.pattern.search(sentence.text)):
                if kind is not Kind.TAMPER:
                    seen.add((kind, one.target))
                order = SentenceOrder(kind, self._find_target(kind, one, match), match.start(), match[0])
                negative = kind in _NEGATIVE and not match[0].startswith("without")
                self._keep(block, sentence, order, negative=negative)

    def _find_target(self, kind: Kind, one: Phrase, match: re.Match[str]) -> str:
        """Find the target of an order: what its phrase means, or the place or file that it names."""
        groups = [group for group in match.groups() if group]
        if kind is Kind.HIDDEN:
            return self.document.origin[-1]
        if kind is Kind.OBEY:
            return next((group for group in groups if _PLACE.match(group)), "").rstrip(".,;:`'\"")
        return one.target or groups[-1]

    def _keep(self, block: ProseBlock, sentence: Sentence, order: SentenceOrder, *, negative: bool = False) -> None:
        shown = self._is_shown(block, sentence, order, negative)
        self._add(order, self._line(sentence, order.start), shown)

    def _is_shown(self, block: ProseBlock, sentence: Sentence, order: SentenceOrder, negative: bool) -> bool:
        """Return whether an order is only mentioned: by where it stands, or by the words around it."""
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

    def _add(self, order: SentenceOrder, line: int, shown: bool) -> None:
        if len(self.facts) >= MAX_FACTS:
            return
        document = self.shown if shown else self.document
        sources = tuple(Fact(source.kind, source.target, document, line, source.via) for source in order.sources)
        if order.kind is not Kind.HARM:  # its second sign means nothing by itself
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

    def _read_section(self, start: int, end: int, things: int, acts: list[int]) -> None:
        """Read a section as a whole: a fake prerequisite is spread over its sentences, and so is a harmful act."""
        if things & _PREREQUISITES.set:
            self._read_prerequisite(start, end, things & _PREREQUISITES.set)
        if acts:
            blocks = [self._block(number) for number in range(start, end)]
            for order, block, sentence in find_harmful_acts(blocks, [number - start for number in acts]):
                self._keep(block, sentence, order, negative=True)

    def _read_prerequisite(self, start: int, end: int, things: int) -> None:
        first, last = self.parts[start], self.parts[end - 1]
        if not self.reading.could_match(first.start, last.end) & things:
            return
        section = [self._block(number) for number in range(start, end)]
        section = [block for block in section if could_be_prerequisite(block.text)]
        if any(_PLACED.search(block.text) for block in section):
            for order, block, sentence in find_prerequisites(section, first.headings):
                shown = self.document.mention or is_mention(first.headings, block.lead)
                self._add(order, self._line(sentence, 0), shown)

    def _could_act(self, number: int) -> bool:
        part, before, after = (self.parts[max(0, min(len(self.parts) - 1, number + step))] for step in (0, -1, 1))
        own = self.reading.could_match(part.start, part.end)
        return could_be_harmful(own, lambda: self.reading.could_match(before.start, after.end))
