"""Secrets in files that are about to be given to everybody: keys, tokens and passwords, by their form and their names.

What only stands for a secret, as `sk-your-key-here` does, is none. A line is shown with the secret masked.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

from clawft.config.masking import MASK, Secrets
from clawft.errors import Diagnostic
from clawft.scan.vocabulary.secrets import find_secret_path, is_secret_env

__all__ = ["OWN_SECRET", "check_secrets"]

OWN_SECRET = "secret-own"
_MAX_LINE = 4096
_MAX_SAID = 20  # of one file
_FORMS: dict[str, str] = {
    "a token of GitHub": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,}",
    "a token of GitLab": r"glpat-[\w-]{20,}",
    "a key of AWS": r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    "a key of Google": r"AIza[\w-]{35}",
    "a key of Anthropic": r"sk-ant-[\w-]{24,}",
    "a key of OpenAI": r"sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}",
    "a key of OpenRouter": r"sk-or-v1-[0-9a-f]{32,}",
    "a key of Stripe": r"[sr]k_live_[A-Za-z0-9]{20,}",
    "a token of Slack": r"xox[abeoprs]-[\w-]{20,}",
    "a webhook of Slack": r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}",
    "a webhook of Discord": r"discord(?:app)?\.com/api/webhooks/\d{15,}/[\w-]{40,}",
    "a token of Telegram": r"\d{8,10}:AA[\w-]{33}",
    "a token of Hugging Face": r"hf_[A-Za-z0-9]{30,}",
    "a token of npm": r"npm_[A-Za-z0-9]{36}",
    "a token of PyPI": r"pypi-[\w-]{60,}",
    "a key of SendGrid": r"SG\.[\w-]{20,}\.[\w-]{30,}",
    "a token of a hub of skills": r"clh_[\w-]{20,}",
    "a signed token": r"eyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{20,}",
    "a password in an address": r"(?<=://)[^\s/?#@:'\"<>{}$]*:[^\s/?#@'\"<>{}$]{6,}(?=@[\w.-])",
}
_KNOWN = re.compile("|".join(f"(?P<k{index}>{form})" for index, form in enumerate(_FORMS.values())))
_KINDS = tuple(_FORMS)
_ASSIGNED = re.compile(r"([A-Za-z_][\w.-]{1,60})[\"']?\s{0,3}(?::|=|:=|=>)\s{0,3}[\"']([\w+/=.~!@#%^&*-]{16,200})[\"']")
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BYTES = re.compile(r"[A-Za-z0-9+/=]{40,}")
_STANDS_FOR_ONE = re.compile(
    r"example|your|my[_-]?|placeholder|change.?me|dummy|fake|sample|redacted|secret.?(here|key)|insert|replace|todo|test"
    r"|x{4,}|\*{3,}|\.{3,}|0{6,}|1234567|abcdefg|deadbeef|[<>${}]|(.)\1{5,}|user:pass|:password$|:pass(wd)?$",
    re.IGNORECASE,
)
_SURE, _LIKELY = 3.0, 3.5  # bits for each character: of a form that is known, and of one that is not


def check_secrets(path: str, data: bytes, own: Secrets | None = None) -> list[Diagnostic]:
    """What is secret about one file of a skill, as errors; `own` are the user's, which no skill may hold."""
    said: list[Diagnostic] = []
    if what := find_secret_path(path):
        hint = f"Leave it out: write '{path}' into .clawftignore"
        said.append(Diagnostic("secret-file", "error", f"By its name this is {what}", path, hint=hint))
    text = data.decode("utf-8", "replace")
    if own and own.find(text, 0):
        said.append(_say(OWN_SECRET, "One of the secrets of your own config stands here", path, _find_own(text, own)))
    for number, line in enumerate(text.split("\n"), 1):
        if len(said) >= _MAX_SAID:
            break
        for kind in _find_in_line(line[:_MAX_LINE]):
            said.append(_say("secret-in-file", f"This looks like {kind}", path, number))
    said += [
        _say("secret-in-file", "This is a private key", path, text.count("\n", 0, match.start()) + 1)
        for match in _BEGIN.finditer(text)
        if _KEY_BYTES.search(text, match.end(), match.end() + 400)
    ]
    return said[:_MAX_SAID]


def _find_in_line(line: str) -> Iterator[str]:
    found = False
    for match in _KNOWN.finditer(line):
        if not _STANDS_FOR_ONE.search(match[0]) and _weigh(match[0]) >= _SURE:
            found = True
            yield f"{_KINDS[int((match.lastgroup or 'k0')[1:])]}: {_shorten(match[0])}"
    if found:
        return
    for match in _ASSIGNED.finditer(line):
        name, value = match[1], match[2]
        odd = any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and "/" not in value[:1]
        named = is_secret_env(name.replace(".", "_").replace("-", "_"))
        if odd and named and not _STANDS_FOR_ONE.search(value) and _weigh(value) >= _LIKELY:
            yield f"the value of '{name}': {_shorten(value)}"


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
