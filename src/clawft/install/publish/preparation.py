"""Secrets in files that are about to be given to everybody: keys, tokens and passwords, by their form and their names.

What only stands for a secret, as `sk-your-key-here` does, is none. A line is shown with the secret masked.
"""

import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Iterator

from clawft.config.masking import MASK, Secrets
from clawft.errors import Diagnostic
from clawft.scan.intake.forms import find_form
from clawft.scan.intake.openers import find_opener
from clawft.scan.intake.parts import MAX_DEPTH, Member, Passage, Room
from clawft.scan.vocabulary.secrets import find_secret_path, is_secret_env

__all__ = ["OWN_SECRET", "check_secrets"]

OWN_SECRET = "secret-own"
_MAX_SAID = 20  # of one file
_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (  # what it is, what it cannot be without, and its form
    ("a token of GitHub", ("gh", "github_pat_"), r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255}"),
    ("a token of GitLab", ("glpat-",), r"glpat-[\w-]{20,255}"),
    ("a key of AWS", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)[0-9A-Z]{16}"),
    ("a key of Google", ("AIza",), r"AIza[\w-]{35}"),
    ("a key of Anthropic", ("sk-ant-",), r"sk-ant-[\w-]{24,255}"),
    ("a key of OpenRouter", ("sk-or-v1-",), r"sk-or-v1-[0-9a-f]{32,255}"),
    ("a key of OpenAI", ("sk-",), r"sk-(?!ant-|or-)(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,255}"),
    ("a key of Stripe", ("k_live_",), r"[sr]k_live_[A-Za-z0-9]{20,255}"),
    ("a token of Slack", ("xox",), r"xox[abeoprs]-[\w-]{20,255}"),
    ("a webhook of Slack", ("hooks.slack",), r"hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{16,64}"),
    ("a webhook of Discord", ("/webhooks/",), r"/api/webhooks/\d{15,25}/[\w-]{40,100}"),
    ("a token of Telegram", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{33}"),
    ("a token of Hugging Face", ("hf_",), r"hf_[A-Za-z0-9]{30,255}"),
    ("a token of npm", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("a token of PyPI", ("pypi-",), r"pypi-[\w-]{60,255}"),
    ("a key of SendGrid", ("SG.",), r"SG\.[\w-]{20,64}\.[\w-]{30,64}"),
    ("a token of a hub of skills", ("clh_",), r"clh_[\w-]{20,255}"),
    ("a key of age", ("AGE-SECRET-KEY-",), r"(?<=AGE-SECRET-KEY-)1[0-9A-Z]{50,64}"),
    ("a signed token", (".eyJ",), r"eyJ[\w-]{16,2000}\.eyJ[\w-]{16,4000}\.[\w-]{20,1000}"),
    ("a password in an address", ("://",), r"://[^\s/?#@:'\"<>{}$]{0,100}:[^\s/?#@'\"<>{}$]{6,100}(?=@[\w.-])"),
)
_ASSIGNED = re.compile(r"[:=]>?\s{0,3}[\"']([\w+/=.~!@#%^&*-]{16,200})[\"']")
_BARE = re.compile(  # without quotes, as files of settings have it; one that is carried in a request
    r"(?:[:=]>?[ \t]{0,3}|(?P<bearer>Bearer ))([\w+/.~!@#%^&*-][\w+/=.~!@#%^&*-]{15,199}+)(?=[\s;,&)\"']|\Z)"
)
_RUN = re.compile(r"[A-Za-z0-9+/]{16,}")
_OPENED = frozenset({"zip", "tar", "gzip", "bzip2", "xz", "lzma", "ar", "zstd"})
_OPENING_S = 20.0
_DIGITS, _SCATTERED = re.compile(r"\d+"), 2  # a name of something has them in one place, as `Ed25519PrivateKey`
_NAME = re.compile(r"([A-Za-z_][\w.-]{1,60})[\"']?\s{0,3}:?\Z")
_MAX_NAME = 70
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BYTES = re.compile(r"[A-Za-z0-9+/=]{40,}")
_STANDS_FOR_ONE = re.compile(
    r"example|your|my[_-]?|placeholder|change.?me|dummy|fake|sample|redacted|secret.?(here|key)|insert|replace|todo|test"
    r"|x{4,}|\*{3,}|\.{3,}|0{6,}|1234567|abcdefg|deadbeef|[<>${}]|(.)\1{5,}|user:pass|:password$|:pass(wd)?$",
    re.IGNORECASE,
)
_SURE, _LIKELY = 3.0, 3.5  # bits for each character: of a form that is known, and of one that is not


def check_secrets(path: str, data: bytes, own: Secrets | None = None) -> list[Diagnostic]:
    """What is secret about one file of a skill, as errors; `own` are the user's, which no skill may hold.

    An archive is looked into, and archives in it, as far as the scanner opens them.
    """
    inside = _open(path, data, Room(time.monotonic() + _OPENING_S))
    found = itertools.chain(_check(path, data, own), *(_check(name, part, own) for name, part in inside))
    return list(itertools.islice(found, _MAX_SAID))


def _open(path: str, data: bytes, room: Room, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """What is in an archive: each part, and its path."""
    form = find_form(data)
    if form not in _OPENED or depth == MAX_DEPTH:
        return
    for part in find_opener(form)(data, room):
        if isinstance(part, Member):
            inner = f"{path}/{part.name}"
            yield inner, part.data
            yield from _open(inner, part.data, room, depth + 1)
        elif isinstance(part, Passage):
            yield f"{path}/{part.name}", part.text.encode("utf-8", "replace")


def _check(path: str, data: bytes, own: Secrets | None) -> list[Diagnostic]:
    said: list[Diagnostic] = []
    if what := find_secret_path(path):
        hint = f"Leave it out: write '{path}' into .clawftignore"
        said.append(Diagnostic("secret-file", "error", f"By its name this is {what}", path, hint=hint))
    if own and own.find(path, 0):
        said.append(_say(OWN_SECRET, "One of the secrets of your own config stands in its name", own.mask(path), 0))
    for text in _read(data):
        if own and own.find(text, 0):
            line = _find_own(text, own)
            said.append(_say(OWN_SECRET, "One of the secrets of your own config stands here", path, line))
        ways = itertools.chain(_find_keys(text), _find_forms(text), _find_assigned(text), _find_bare(text))
        found = list(itertools.islice(ways, _MAX_SAID))
        told = {text.count("\n", 0, at) + 1: kind for at, kind in reversed(found)}  # of one line the first is enough
        said += [_say("secret-in-file", f"This looks like {kind}", path, line) for line, kind in sorted(told.items())]
    return list(dict.fromkeys(said))[:_MAX_SAID]


def _read(data: bytes) -> Iterator[str]:
    """The text of a file; and where it may be one of two or four bytes for each character, that text."""
    yield data.decode("utf-8", "replace")
    if b"\0" in data:
        yield data.replace(b"\0", b"").decode("utf-8", "replace")


def _find_keys(text: str) -> Iterator[tuple[int, str]]:
    for match in _BEGIN.finditer(text):
        if _KEY_BYTES.search(text, match.end(), match.end() + 400):
            yield match.start(), "a private key"


def _find_forms(text: str) -> Iterator[tuple[int, str]]:
    for kind, parts, form in _FORMS:
        if any(part in text for part in parts):
            for match in re.finditer(form, text):
                before = text[match.start() - 1 : match.start()]
                inside = match[0][0].isalnum() and (before.isalnum() or before in ("+", "_"))  # of base64, or of a word
                if not inside and not _STANDS_FOR_ONE.search(match[0]) and _weigh(match[0]) >= _SURE:
                    yield match.start(), f"{kind}: {_shorten(match[0].removeprefix('://'))}"


def _find_assigned(text: str) -> Iterator[tuple[int, str]]:
    """Random texts that are given to something whose name says that it is secret."""
    for match in _ASSIGNED.finditer(text):
        value = match[1]
        if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))) or value[0] == "/":
            continue
        name = _NAME.search(text, max(0, match.start() - _MAX_NAME), match.start())
        if name is None or not is_secret_env(name[1].replace(".", "_").replace("-", "_")):
            continue
        if not _STANDS_FOR_ONE.search(value) and _weigh(value) >= _LIKELY:
            yield match.start(), f"the value of '{name[1]}': {_shorten(value)}"


def _find_bare(text: str) -> Iterator[tuple[int, str]]:
    """The same without quotes, where code and words look much alike: it must have a long piece that is no word."""
    for match in _BARE.finditer(text):
        value, run = match[2], max(_RUN.findall(match[2]), key=len, default="")
        if len(_DIGITS.findall(run)) < _SCATTERED or _weigh(run) < _LIKELY or _STANDS_FOR_ONE.search(value):
            continue
        if match["bearer"]:
            yield match.start(), f"a token: {_shorten(value)}"
            continue
        name = _NAME.search(text, max(0, match.start() - _MAX_NAME), match.start())
        if name and value[0] != "/" and is_secret_env(name[1].replace(".", "_").replace("-", "_")):
            yield match.start(), f"the value of '{name[1]}': {_shorten(value)}"


def _weigh(text: str) -> float:
    """How much each character of a text tells, in bits: words tell little, keys much."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _shorten(secret: str) -> str:
    """Enough of a secret to find it by."""
    return f"{secret[:6]}{MASK}"


def _find_own(text: str, own: Secrets) -> int:
    match = own.find(text, 0)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _say(code: str, message: str, path: str, line: int) -> Diagnostic:
    return Diagnostic(code, "error", message, path, line, hint="Take it out, and make a new one: this one was on disk")
