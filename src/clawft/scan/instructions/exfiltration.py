"""Orders to send what is the user's: a verb of sending, data, and a place; the data may stand in a sentence before."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.patterns import begins
from clawft.scan.instructions.sentences import Sentence
from clawft.scan.instructions.words import find_address, find_data

__all__ = ["could_match", "find"]

_HEADS = begins(
    "send sends sending sent post posts posting upload uploads uploaded uploading transmit transmits transmitted "
    "transmitting "
    "forward forwards forwarded forwarding exfiltrate submit mirror mirrors mirrored sync synced synchronize "
    "synchronise backup relay email bcc "
    "mail share shared report deliver collect collects collected telemetry pass include embed append curl push copy "
    "leak beacon phone "
    "log written store stored kept retained archive record request contact ping stream streams streamed ship ships"
)
_PLACES = begins("server service endpoint collector analytics backend cloud webhook system infrastructure")
_VERB = re.compile(
    r"\b(?:sends?|sending|sent|posts?|posting|uploads?|uploaded|uploading|transmits?|transmitted|transmitting"
    r"|forwards?|forwarded|forwarding|exfiltrates?|submits?|mirrors?|mirrored"
    r"|sync(?:s|ed|hroni[sz]es?)?|back(?:s|ed|ing)? (?:it |them |everything )?up|backup|relays?|e-?mails?|bcc|cc"
    r"|mails?|shares?|reports?|delivers?|leaks?|pushe?s?|cop(?:y|ies)|beacons?"
    r"|streams?|ships?|copied|replicated?|duplicated?|shared|delivered|streamed|pushed|mailed|e-?mailed|logged|saved"
    r"|reported|posted|submitted|synced|logs?|written|stored?|kept|retained|archived?|synchroni[sz]ed|recorded"
    r"|requests?"
    r"|contacts?|pings?|copies|curl(?: -x)? post|make (?:a|an) (?:\w+ )?(?:post|http) request|pass(?:es)?)\b"
)
_TO = re.compile(r"\b(?:to|at|via|into|with|through|on|using|by|in)\b|->|→")
_TAKE = re.compile(
    r"\b(?:read|reads|collect|collects|gather|gathers|find|finds|locate|get|gets|grab|extract|extracts|copy|dump"
    r"|list|search|scan|look|open|access|harvest|retrieve|capture|cat|include|includes|save|store|create|record"
    r"|fetch|print)\b"
)
_DIRECT = frozenset({"bcc", "cc", "request", "requests", "ping", "pings", "contact", "contacts"})
_IT = re.compile(
    r"\b(?:it|them|its|their|this|these|that|those|the (?:contents?|results?|outputs?|data|files?|values?"
    r"|information|archive|copy|dump|raw content)|everything|all(?: of (?:it|them))?|each|contents)\b"
)
# A place without an address.
_PLACE = re.compile(
    r"\b(?:the )?(?:skill )?(?:author|developer|vendor|publisher|maintainer|provider|creator|attacker"
    r"|third[- ]part(?:y|ies)|external|remote|outside|our|central|company|corporate|partner)(?:'s|s')?"
    r" (?:[\w-]+ ){0,3}?(?:servers?|services?|endpoints?|collectors?|analytics|backends?|cloud|webhooks?|systems?"
    r"|infrastructure|database|bucket|drive|partners?|address|mailbox|inbox)\b"
)


def could_match(lower: str, heads: set[str]) -> bool:
    """Whether a block in lower case has a word of sending and something like a place."""
    if _HEADS.isdisjoint(heads):
        return False
    return "://" in lower or "@" in lower or not _PLACES.isdisjoint(heads) or re.search(r"\w\.\w+/", lower) is not None


def find(sentences: list[Sentence]) -> Iterator[tuple[Order, Sentence]]:
    """Orders in a block to send data somewhere; what is sent are the sources of the order."""
    taken: list[Order] = []
    for sentence in sentences:
        text = sentence.text
        order = _find_send(text, taken)
        if order is not None:
            yield order, sentence
        if _TAKE.search(text) and (found := find_data(text)):
            taken = [_read(*one) for one in found] + taken[:3]


def _find_send(text: str, taken: list[Order]) -> Order | None:
    if "href=" in text:
        return None
    for verb in _VERB.finditer(text):
        address = find_address(text, verb.end())
        where, start = (address[0].rstrip(".,;:"), address.start()) if address else ("", -1)
        place = None if address else _PLACE.search(text, verb.end())
        if place:
            start = place.start()
        elif not address:
            continue
        between = text[verb.end() : start]
        if len(between) > 260 or not (_TO.search(between + " ") or verb[0] in _DIRECT):
            continue
        sources = [_read(*one) for one in find_data(text, verb.start(), start)]
        if not sources and _IT.search(between):
            sources = list(taken) or [_read(*one) for one in find_data(text, 0, verb.start())]
        if not sources and (place or "://" in where or "@" in where):
            sources = [_read(*one) for one in find_data(text[: verb.start()] + " " + text[start + len(where) :])]
        if sources or (where and verb[0] not in _DIRECT):
            via = text[verb.start() : start + len(where)] if where else text[verb.start() : start + 40]
            return Order(Kind.SEND, where, verb.start(), via, tuple(sources))
    return None


def _read(how: str, words: str, at: int) -> Order:
    kind = Kind.ENV if "environment" in words or words in ("env vars", "env variables") else Kind.READ
    return Order(kind, "*" if kind is Kind.ENV else words, at, f"{how}: {words}")
