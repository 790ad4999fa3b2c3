"""Orders to send what is the user's: a verb of sending, data, and a place; the data may stand in a sentence before."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Kind
from clawft.scanner.instructions.patterns import LateRegex, SentenceOrder, find_address, find_data
from clawft.scanner.instructions.sentences import Sentence
from clawft.scanner.regex import make_automaton

VERB = LateRegex(
    r"\b(?:sends?|sending|sent|posts?|posting|uploads?|uploaded|uploading|transmits?|transmitted|transmitting|forwards?"
    r"|forwarded|forwarding|exfiltrates?|submits?|mirrors?|mirrored|sync(?:s|ed|hroni[sz]es?)?|back(?:s|ed|ing)? (?:it "
    r"|them |everything )?up|backup|relays?|e-?mails?|bcc|cc|mails?|shares?|reports?|delivers?|leaks?|pushe?s?|cop(?:y"
    r"|ies)|beacons?|streams?|ships?|reporting|forwards|mirroring|sharing|delivering|pushing|copying|streaming"
    r"|e-?mailing|submitting|copied|replicated?|duplicated?|shared|delivered|streamed|pushed|mailed|e-?mailed|logged"
    r"|saved|reported|posted|submitted|synced|logs?|written|stored?|kept|retained|archived?|synchroni[sz]ed|recorded"
    r"|requests?|contacts?|pings?|copies|webhooks?|curl(?: -x)? post|make (?:a|an) (?:\w+ )?(?:post|http) request"
    r"|pass(?:es)?)\b"
)
_TO = LateRegex(r"\b(?:to|at|via|into|with|through|on|using|by|in)\b|->|→")
_TAKE = LateRegex(
    r"\b(?:read|reads|collect|collects|gather|gathers|find|finds|locate|get|gets|grab|extract|extracts|copy|dump"
    r"|list|search|scan|look|open|access|harvest|retrieve|capture|cat|include|includes|save|store|create|record"
    r"|fetch|print)\b"
)
_DIRECT = frozenset({"bcc", "cc", "request", "requests", "ping", "pings", "contact", "contacts", "webhook", "webhooks"})
_IT = LateRegex(
    r"\b(?:it|them|its|their|this|these|that|those|the (?:contents?|results?|outputs?|data|files?|values?"
    r"|information|archive|copy|dump|raw content)|everything|all(?: of (?:it|them))?|each|contents)\b"
)
# A place without an address.
PLACE = LateRegex(
    r"\b(?:the )?(?:skill )?(?:author|developer|vendor|publisher|maintainer|provider|creator|attacker"
    r"|third[- ]part(?:y|ies)|external|remote|outside|our|central|company|corporate|partner)(?:'s|s')?"
    r" (?:[\w-]+ ){0,3}?(?:servers?|services?|endpoints?|collectors?|analytics|backends?|cloud|webhooks?|systems?"
    r"|infrastructure|database|bucket|drive|partners?|address|mailbox|inbox)\b"
)


# Where an address may stand: surely, or a host without more.
_MARKS = (
    b"://", b"@", b".com", b".net", b".org", b".io", b".dev", b".app", b".xyz", b".top", b".site", b".online", b".cc",
    b".ru", b".cn", b".me", b".sh", b".co", b".info",
)  # fmt: skip
_SURE = 2
_NUMBERS = LateRegex(r"\.\d{1,3}\.\d{1,3}\.\d")
_PLACES = LateRegex(r"(?<![a-z])(?:ser|end|col|ana|bac|clo|web|sys|inf)|\w\.\w+/", re.IGNORECASE)


def find_addresses(text: str) -> list[tuple[int, bool]]:
    """Find where addresses may stand in a text, and whether each is more than a bare host."""
    found = make_automaton(_MARKS).find_matches_as_indexes(text.encode("latin-1", "replace").lower())
    spots = [(start, mark < _SURE) for mark, start, _ in found]
    return spots + [(match.start(), False) for match in _NUMBERS.finditer(text)]


def has_place(text: str) -> bool:
    """Return whether a block speaks of something like a place: beside such words a bare host counts."""
    return _PLACES.search(text) is not None


def find_send_orders(sentences: list[Sentence]) -> Iterator[tuple[SentenceOrder, Sentence]]:
    """Orders in a block to send data somewhere; what is sent are the sources of the order."""
    before = _Before(sentences)
    for number, sentence in enumerate(sentences):
        before.end = number
        order = _find_send(sentence.text, before)
        if order is not None:
            yield order, sentence


class _Before:
    """The data that the sentences before one speak of taking, told when it is asked for."""

    def __init__(self, sentences: list[Sentence]) -> None:
        self._sentences = sentences
        self._at = 0
        self._taken: list[SentenceOrder] = []
        self.end = 0

    def find_taken(self) -> list[SentenceOrder]:
        for sentence in self._sentences[self._at : self.end]:
            if _TAKE.search(sentence.text) and (found := find_data(sentence.text)):
                self._taken = [_read(*span) for span in found] + self._taken[:3]
        self._at = self.end
        return list(self._taken)


def _find_send(text: str, before: _Before) -> SentenceOrder | None:
    if "href=" in text:
        return None
    reach = _Reach(text)
    for verb in VERB.finditer(text):
        where, start = reach.find(verb.end())
        if start < 0:
            return None
        between = text[verb.end() : start]
        if len(between) > 260 or not (_TO.search(between + " ") or verb[0] in _DIRECT):
            continue
        sources = [_read(*span) for span in find_data(text, verb.start(), start)]
        if not sources and _IT.search(between):
            sources = before.find_taken() or [_read(*span) for span in find_data(text, 0, verb.start())]
        if not sources and (not where or "://" in where or "@" in where):
            sources = [_read(*span) for span in find_data(text[: verb.start()] + " " + text[start + len(where) :])]
        if sources or (where and verb[0] not in _DIRECT):
            via = text[verb.start() : start + len(where)] if where else text[verb.start() : start + 40]
            return SentenceOrder(Kind.SEND, where, verb.start(), via, tuple(sources))
    return None


class _Reach:
    """The next address in a sentence after a place in it, or else a place that is named; each is searched for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._address: tuple[str, int] = ("", -1)
        self._place = -1
        self._searched = False

    def find(self, start: int) -> tuple[str, int]:
        """The address, empty for a place without one, and where it stands: -1 when there is none."""
        if not self._searched or -1 < self._address[1] < start:
            match = find_address(self._text, start)
            self._address = (match[0].rstrip(".,;:"), match.start()) if match else ("", -1)
        if self._address[1] < 0 and (not self._searched or -1 < self._place < start):
            place = PLACE.search(self._text, start)
            self._place = place.start() if place else -1
        self._searched = True
        return self._address if self._address[1] >= 0 else ("", self._place)


def _read(how: str, what: str, at: int) -> SentenceOrder:
    kind = Kind.ENV if "environment" in what or what in ("env vars", "env variables") else Kind.READ
    return SentenceOrder(kind, "*" if kind is Kind.ENV else what, at, f"{how}: {what}")
