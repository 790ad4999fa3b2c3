"""Mask secrets in text that goes to a model, a log or a screen."""

import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

from clawft.config.loader import Config
from clawft.config.secret import expand, find_names, find_secrets, names_secret

MASK = "<secret>"
MIN_LENGTH = 6  # characters; a shorter value would mask ordinary words
_KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "BRAVE_API_KEY")
_ODD_LENGTH = 12
_URL_SAFE = str.maketrans("+/", "-_")
_TOKEN = re.compile(
    r"\b(?:[sprk]k[-_][\w-]{8,}|gh[a-z]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{8,}|hf_\w{16,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}|(?:Bearer|Basic) [\w+/=.~-]{8,})"
)
_PRIVATE_KEY = "-----BEGIN "
_URL_PASSWORD = re.compile(r"://[^/?#@\s]*:([^/?#@\s]+)@")
_URL_USER = re.compile(r"://([^/?#@:\s]+)@")  # some take a token there
_PAIR = re.compile(r"(?<![\w.-])([\w.-]+)=([^&#;\s]+)")
_HEADER = re.compile(r"(?<![\w.-])([\w.-]+): *(\S.*)")
_QUERY = re.compile(r"://[^?\s]*\?([^#\s]+)")


class Secrets:
    """The values that no text may hold, in every form they may be written in."""

    def __init__(self, values: Iterable[str] = (), min_length: int = MIN_LENGTH) -> None:
        self._min_length = min_length
        self._known: set[str] = set()
        self.forms: list[str] = []
        self._pattern: re.Pattern[str] | None = None
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """From now on no text may hold these either."""
        new = {value for value in values if len(value.strip()) >= self._min_length} - self._known
        if not new:
            return
        self._known |= new
        whole = {form for value in new for form in (value, value.strip())}
        forms = {*self.forms, *(form for value in whole for form in _forms(value))}
        self.forms = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self.forms)))

    def update(self, config: Config, environ: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]]) -> None:
        """Add the secrets of a config that was loaded anew. Raises: ClawftError, as `of`."""
        self.add(_configured(config, environ, schemas))

    @classmethod
    def of(
        cls, config: Config, environ: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]] | None = None
    ) -> "Secrets":
        """The secrets that a config holds or refers to, and the well-known keys of providers; `schemas` as for
        `find_secrets`."""
        return cls([*_configured(config, environ, schemas or {}), *(environ.get(name, "") for name in _KEY_VARIABLES)])

    def __bool__(self) -> bool:
        return self._pattern is not None

    def __repr__(self) -> str:
        return f"Secrets({len({value.strip() for value in self._known})})"

    def mask(self, text: str) -> str:
        """A text with every secret replaced by `<secret>`."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def mask_value(self, value: Any) -> Any:
        """Tables, lists and texts with every secret in them replaced, in keys too; other values as they are."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {self.mask_value(key): self.mask_value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            masked = map(self.mask_value, value)
            return list(masked) if isinstance(value, list) else tuple(masked)
        return value

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """The first secret in a text from a place on, the longest where several begin there."""
        return self._pattern.search(text, start) if self._pattern else None

    def stream(self) -> "MaskedStream":
        """A mask for one text that arrives in pieces."""
        return MaskedStream(self)


class MaskedStream:
    """Masks a text that arrives in pieces. What may be the start of a secret waits for the next piece."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = ""
        self._starts: dict[str, list[str]] = defaultdict(list)
        for form in secrets.forms:
            self._starts[form[0]].append(form)
        self._longest = max(map(len, secrets.forms), default=0)

    def __repr__(self) -> str:
        return f"Stream({self._secrets!r})"

    def feed(self, text: str) -> str:
        """Add a piece of text and return what may be shown now."""
        if not self._longest:
            return text
        text = self._held + text
        shown: list[str] = []
        at = 0
        while True:
            match, start = self._secrets.find(text, at), self._find_start(text, at)
            if match is None or match.start() >= start:  # at the same place a longer secret may be on its way
                break
            shown += (text[at : match.start()], MASK)
            at = match.end()
        self._held = text[start:]
        return "".join((*shown, text[at:start]))

    def flush(self) -> str:
        """Return the text that was held back, since nothing follows."""
        held, self._held = self._held, ""
        return self._secrets.mask(held)

    def _find_start(self, text: str, at: int) -> int:
        """Return the position at which the end of a text may begin a secret; the text's end if there is none."""
        for index in range(max(at, len(text) - self._longest + 1), len(text)):
            forms = self._starts.get(text[index], ())
            tail = text[index:] if forms else ""
            if any(len(form) > len(tail) and form.startswith(tail) for form in forms):
                return index
        return len(text)


def looks_secret(text: str) -> bool:
    """Return whether a text holds what looks like a token, a private key, or a password inside of a URL."""
    return (
        _PRIVATE_KEY in text or any(pattern.search(text) for pattern in (_TOKEN, _URL_PASSWORD)) or any(_in_urls(text))
    )


def _configured(config: Config, environ: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for _, secret in find_secrets(config.values, environ, schemas=schemas):
        yield secret.resolve(environ)
    env_tables = [entry.env for entry in config.skills.entries.values()]
    env_tables += [entry.env for entry in config.hooks.entries.values()]
    env_tables += [entry.env for entry in config.plugins.entries.values()]
    for env in env_tables:
        for name, env_value in env.items():
            text = env_value.resolve(environ)
            if env_value.is_reference or names_secret(name) or is_odd(text):
                yield text
    yield from (environ.get(name, "") for name in config.tools.exec.env if names_secret(name))
    servers = config.mcp.servers.values()
    tables = [provider.headers for provider in config.providers.values()]
    tables += [table for server in servers for table in (server.env, server.headers)]
    for table in tables:
        for name, value in table.items():
            yield from _supplied(name, value, environ)
    for words in (config.tools.delegate.command, *(server.args for server in servers)):
        for option, word in zip(("", *words), words, strict=False):
            yield from filter(is_odd, find_named(word, option))
    for text in _texts(config.values):
        yield from _URL_PASSWORD.findall(text)
        yield from _in_urls(text)
        yield from (match[0] for match in _TOKEN.finditer(text))
        if _PRIVATE_KEY in text:
            yield text


def find_named(text: str, option: str = "") -> Iterator[str]:
    """Find secrets that a text names: `--token=X`, `KEY=X`, `X-Key: X`, or all of it behind the option `--token`."""
    name, equals, value = text.partition("=")
    if option.startswith("-") and "=" not in option and not text.startswith("-") and names_secret(option.strip("-")):
        yield text
    elif equals and name.startswith("-") and not names_secret(name.strip("-")):  # `--header=X-Key: X`
        yield from find_named(value)
    else:
        for name, value in (*_PAIR.findall(text), *_HEADER.findall(text)):
            if names_secret(name.strip("-")) and "${" not in value:
                yield value


def _in_urls(text: str) -> Iterator[str]:
    """Secrets of addresses that stand in place of a user, or in the query under a name that says so."""
    yield from (user for user in _URL_USER.findall(text) if is_odd(user))
    for query in _QUERY.findall(text):
        for part in query.split("&"):
            name, _, value = part.partition("=")
            if value and "${" not in value and names_secret(name):
                yield from {value, unquote_plus(value)}


def is_odd(value: str) -> bool:
    """Return whether a value may be a secret: a word or a number, such as `metric` or `8080`, would mask ordinary
    text."""
    if looks_secret(value):
        return True
    return len(value) >= _ODD_LENGTH and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _supplied(name: str, value: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets that a header or variable of the config holds: `Bearer ${KEY}` both whole and as the key
    alone."""
    expanded, _ = expand(value, environ)
    if expanded != value or names_secret(name):
        yield expanded
        yield expanded.removeprefix("Bearer ").removeprefix("Basic ")
        yield from (environ.get(variable, "") for variable in find_names(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _forms(value: str) -> Iterator[str]:
    """A secret as it stands in plain text, in JSON, in a URL, and inside of base64."""
    data = value.encode("utf-8", errors="surrogateescape")
    yield from (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    yield from (quote(data, safe=""), quote(data), quote_plus(data))
    yield from _base64_forms(data)


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield the text found in every base64 encoding that contains these bytes: one form for each of their three
    possible alignments."""
    for before in range(3):
        encoded = b64encode(bytes(before) + data).decode()
        sure = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]  # the rest hangs on what stands around
        for form in (sure,) if before else (sure, encoded, encoded.rstrip("=")):
            yield from (form, form.translate(_URL_SAFE))
