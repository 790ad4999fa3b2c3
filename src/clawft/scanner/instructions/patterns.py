"""The pattern language of the grammars: phrases, lazily compiled patterns, word groups, and the orders they find."""

import re
from functools import cached_property

from msgspec import Struct

from clawft.scanner.facts import Kind
from clawft.scanner.instructions.needs import GROUPS, look_up_needs
from clawft.scanner.regex import LazyPattern, lazy


class SentenceOrder(Struct, frozen=True):
    """One thing a sentence asks for: `via` are its words, `start` is where they stand in the sentence."""

    kind: Kind
    target: str
    start: int
    via: str
    sources: tuple["SentenceOrder", ...] = ()


class LateRegex(LazyPattern):
    """A lazily compiled pattern that an index can hold."""

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        return look_up_needs(self.source)


class AllPatterns:
    """Patterns of which a text must have all."""

    def __init__(self, *patterns: LateRegex) -> None:
        self._patterns = patterns

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(pattern.source for pattern in self._patterns)

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        return tuple(need for pattern in self._patterns for need in pattern.needs)


class AnyWord:
    """Words of which a text must have one, in small letters."""

    def __init__(self, *words: str) -> None:
        self.sources = ()
        self.needs = (frozenset(words),)


def join_alternatives(*lines: str) -> str:
    """Alternatives, written over as many lines as they need."""
    return "(?:" + "|".join(lines) + ")"


_GAP = re.compile(r" ~(\d+) ")
_NAME = re.compile(r"<([a-z_]+)>")


class Phrase(Struct, frozen=True, dict=True):
    """A pattern as it is written, and its meaning."""

    text: str
    target: str = ""

    @cached_property
    def outline(self) -> str:
        """The regular expression but for the groups of the vocabulary, which it names."""
        parts = _GAP.split(self.text)
        out = [_bound(parts[0])]
        for gap, part in zip(parts[1::2], parts[2::2], strict=True):
            out.append(f".{{0,{gap}}}?{_bound(part)}")
        return "".join(out)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(_NAME.sub(lambda match: GROUPS.get(match[1], match[0]), self.outline))

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of its patterns."""
        return (self.outline,)

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        """The words that a text must have to match."""
        return look_up_needs(self.outline)

    @property
    def mark(self) -> str:
        """The characters that a text must have to match."""
        return "://" if "<url>" in self.text else "/" if "<fixed>" in self.text else ""


def parse_phrases(table: str, **words: str) -> tuple[Phrase, ...]:
    """Read a table of phrases.

    `- ` begins a phrase, `name = ` a group of words; a deeper line continues it, after a blank unless it begins with a
    bar. `{name}` is replaced by the group, `({name})` by the group as one that captures. A line `meaning:` says what
    the phrases below it are about.
    """
    phrases = []
    target = ""
    for entry in _CONTINUED.sub(lambda match: "|" if match[1] == "|" else f" {match[1]}", table).split("\n    "):
        name, defines, group = entry.partition(" = ")
        if entry.startswith("- "):
            phrases.append(Phrase(_fill_in(entry[2:], words), target))
        elif defines:
            words[name] = _fill_in(group, words)
        else:
            target = entry.strip().removesuffix(":")
    return tuple(phrases)


_CONTINUED = re.compile(r"\n {6}(.)")


def _fill_in(text: str, words: dict[str, str]) -> str:
    for name, group in words.items():
        text = text.replace(f"({{{name}}})", group.replace("(?:", "(", 1)).replace(f"{{{name}}}", group)
    return text


def _bound(part: str) -> str:
    """A part that begins and ends at the edge of a word, where it begins and ends with one."""
    head = part.lstrip("(?:")
    if match := _NAME.match(head):
        head = GROUPS[match[1]].lstrip("(?:")
    begin = r"\b" if head[:1].isalnum() else ""
    end = r"\b" if "$" not in part and (part[-1:].isalnum() or part[-1:] in ")?>") else ""
    return f"{begin}(?:{part}){end}"


ADDRESS = (
    r"(?:https?|ftp|wss?|s3|gs)://[^\s)\]>\"'`<|,]+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b(?:[a-z0-9-]{1,63}\.){1,4}(?:com|net|org|io|dev|app|xyz|top|site"
    r"|online|cc|ru|cn|me|sh|co|info)\b(?:/[^\s)\]>\"'`<|,]*)?"
)
_ADDRESS = lazy(ADDRESS)
# A file name is no host: "package.json", "main.rs", "README.me".
_FILE = LateRegex(r"^(?:readme|package|main|index|config|setup|install|script|test|data)\b|\.(?:sh|me|co|py|md|rs)$")

_PLACEHOLDER = LateRegex(
    r"(?:name|user|users?|you|your|someone|e?mail|me|john|jane|alice|bob|test)[\w.+-]*@(?:example|domain|email"
    r"|company)\."
)

# Data that opens accounts or wallets.
_SECRET = (
    r"(?:~|\$home|/home/[\w.<>{}-]+|/root|/users/[\w.<>{}-]+)?/?\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc"
    r"|git-credentials|docker)(?:/[\w./*-]*)?|(?:[~\w./-]*/)?id_(?:rsa|dsa|ecdsa|ed25519)\b"
    r"|[\w./-]*\.env(?:\.\w+)?\b(?! example)|/etc/(?:passwd|shadow)|\b(?:ssh|private|signing|encryption|gpg|pgp"
    r"|wallet) keys?\b|\b(?:env|environment) (?:vars?|variables?|files?|secrets?|dump)\b|\bfull environment\b"
    r"|\b(?:browser|session|login|auth(?:entication)?) (?:cookies?|data|passwords?|sessions?|profiles?|credentials?"
    r"|tokens?)\b|\bcookies\b|\bkeychain\b|\bseed phrases?\b|\bmnemonics?\b|\brecovery phrases?\b|\bclipboard\b"
    r"|\b(?:saved|stored|user(?:'s)?|plaintext|master) (?:passwords?|credentials?|logins?|secrets?)\b|\bcredentials?\b"
    r"|\bpasswords?\b|\b(?:all|any|every|their|user(?:'s)?|discovered|found|available) (?:api )?(?:keys|tokens"
    r"|secrets)\b|\b(?:api )?(?:keys|tokens|secrets) (?:found|stored|kept|that you find|from the (?:environment|project"
    r"|user))\b|\b(?:shell|bash|command|browsing) history\b|\bcredit cards?\b|\bsocial security\b|\bssn\b|\b2fa\b"
    r"|\botp codes?\b"
)
# A key that a service may well be handed as its own.
_KEY = (
    r"\bapi[- _]?keys?\b|\b(?:access|api|bearer|auth|session|refresh|bot|user)[- _]tokens?\b|\btokens?\b|\bsecrets?\b"
)
# What is the user's own to give.
_PRIVATE = (
    r"\b(?:conversations?|chats?|messages?|dialog(?:ue)?s?|sessions?)(?: (?:history|histories|logs?|transcripts?"
    r"|contents?|context|text|data))\b|\b(?:entire|full|whole|complete|current) (?:conversation|chat|session|context"
    r"|transcript|prompt|workspace|project|codebase|repo(?:sitory)?|text|memory|file|document)s?\b|\b(?:record|copy"
    r"|transcript|log|summary) of the (?:chat|conversation|session)\b|\bsystem prompts?\b|\b(?:your|these|its|the "
    r"agent's|hidden) (?:instructions|prompt)\b|\b(?:all|any|every|each|the|their|this|user(?:'s)?|your|his|both|new"
    r"|edited|modified|generated|created|final|resulting|processed|incoming|outgoing|collected|gathered|original|raw"
    r"|sensitive|internal|full|source|private|personal) (?:[\w-]+ ){0,2}?(?:files?|folders?|documents?|events?"
    r"|payloads?|data|messages?|(?:e-?)?mails?|code|contents?|workspace|inputs?|prompts?|project|repo(?:sitory"
    r"|sitories)?|notes|contacts|calendar|photos?|images?|records?|reports?|results?|outputs?|transcripts?"
    r"|spreadsheets?|presentations?|details|information|contracts?|commits?|branches|descriptions?|responses?|queries"
    r"|memory|history|artifacts?|diffs?|invoices?)\b|\bfile contents?\b|\bcontents? of\b|\b(?:an? (?:additional|full"
    r"|complete|backup|second) copy|another copy|(?:a|backup|extra|second|duplicate) cop(?:y|ies))\b|\bcopies of\b"
    r"|\bsource code\b|\b(?:patient|health(?:care)?|medical|customer|client|personal|financial|employee|payroll|usage"
    r"|telemetry|diagnostic|private|sensitive|confidential|workspace|user) (?:data|records?|information|details|files?"
    r"|vitals?)\b|\b[\w-]{1,60}\.(?:txt|csv|json|docx?|xlsx?|pptx?|pdf|log|db|sqlite|sql|bak)\b|\bscreenshots?\b"
    r"|\bhostnames?\b|\bsystem information\b|\bwhoami\b|\bkeystrokes?\b|\bip address(?:es)?\b|\blocation\b"
)  # fmt: skip
_SECRET_RE, _KEY_RE, _PRIVATE_RE = LateRegex(_SECRET), LateRegex(_KEY), LateRegex(_PRIVATE)


def find_address(text: str, start: int = 0) -> re.Match[str] | None:
    """The first address in a text: a URL, a mail address, an IP address or a host."""
    for match in _ADDRESS.finditer(text, start):
        if _PLACEHOLDER.match(match[0]):
            continue
        if "://" in match[0] or "@" in match[0] or "/" in match[0] or not _FILE.search(match[0]):
            return match
    return None


def find_data(text: str, start: int = 0, end: int | None = None) -> list[tuple[str, str, int]]:
    """Find the data a phrase names: "secret", "key" or "private", the words, and their offsets; the worst first."""
    end = len(text) if end is None else end
    found: list[tuple[str, str, int]] = []
    for how, pattern in (("secret", _SECRET_RE), ("key", _KEY_RE), ("private", _PRIVATE_RE)):
        found.extend((how, match[0].strip(), match.start()) for match in pattern.finditer(text, start, end))
        if found:
            break
    return found[:4]
