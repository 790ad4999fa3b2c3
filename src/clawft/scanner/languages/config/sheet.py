"""A configuration under analysis: its facts and command lines, and every string and comment in it."""

import json
import re
import shlex
from itertools import islice
from typing import Any

from clawft.scanner.facts import Document, Fact, Kind, make_child
from clawft.scanner.regex import lazy
from clawft.scanner.vocabulary.secrets import find_secret_path

MAX_CHILDREN = 2_000
_MAX_LEAVES = 100_000
_LARGE = 1 << 18


class ConfigSheet:
    """Collects what one configuration gives."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts: list[Fact] = []
        self.children: list[Document] = []
        self.gaps: list[str] = []
        self._cursor = 0
        self._held: set[tuple[str, str]] = set()

    @property
    def size(self) -> int:
        """The number of things found so far."""
        return len(self.facts) + len(self.children)

    def locate(self, value: str, *keys: str) -> int:
        """Find the line of a value, searched behind the keys that lead to it."""
        text = self.document.text
        at = self._cursor if len(text) > _LARGE else 0
        for key in keys:
            found = text.find(key.rstrip("\0"), at) if key else -1
            at = found if found >= 0 else at
        line = value.strip().partition("\n")[0][:60]
        if line:
            for form in (line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1]):
                found = text.find(form, at)
                if found >= 0:
                    at = found
                    break
        self._cursor = at
        return at

    def add(self, kind: Kind, target: str, *keys: str, via: str = "", sources: tuple[Fact, ...] = ()) -> Fact:
        """Note a fact whose target, or else last key, stands in the text behind the keys."""
        at = self.locate(via if via and via in self.document.text else target, *keys)
        fact = Fact(kind, target, self.document, self.document.line_at(at), via, sources)
        self.facts.append(fact)
        return fact

    def run(self, command: object, *keys: str, hook: str = "", env: object = None, language: str = "shell") -> None:
        """Note a command line that the configuration runs: when asked to, or by itself on the event `hook`."""
        if isinstance(command, dict):
            for name, value in command.items():
                self.run(value, *keys, str(name), hook=hook, env=env)
            return
        line = as_command(command)
        if not line.strip():
            return
        at = self.locate(_first(command), *keys)
        if hook:
            self.facts.append(Fact(Kind.HOOK, hook, self.document, self.document.line_at(at), line))
        self._hold_at(at, _settings(line, env) + line, language, "hook" if hook else "config")

    def hold(self, text: str, language: str, how: str, *keys: str, shown: str = "") -> None:
        """Make a document of a text that the configuration holds."""
        self._hold_at(self.locate(shown or text, *keys), text, language, how)

    def _hold_at(self, at: int, text: str, language: str, how: str) -> None:
        if len(self.children) >= MAX_CHILDREN:
            if not self.gaps:
                self.gaps.append(f"It holds more than {MAX_CHILDREN} commands and texts")
            return
        if how == "config" and (language, text) in self._held:
            return
        self._held.add((language, text))
        self.children.append(make_child(self.document, text, language, how, at, flat=not self._stands(text, at)))

    def _stands(self, text: str, at: int) -> bool:
        """Return whether the lines of a text are lines of the file from there on, as in a YAML block."""
        lines = text.rstrip("\n").split("\n")
        if len(lines) < 2 or self.document.flat:
            return False
        shown = self.document.text[at : at + 2 * len(text) + 200 * len(lines)].split("\n")
        return len(shown) >= len(lines) and all(
            a.strip()[:8] == b.strip()[:8] for a, b in zip(lines, shown, strict=False)
        )


def _first(command: object) -> str:
    if isinstance(command, list):
        return max((str(part) for part in command[:50]), key=len, default="")
    return str(command)


def as_command(value: object) -> str:
    """A command line as text; words in a list are quoted the way a shell reads them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return shlex.join(str(element) for element in value if isinstance(element, str | int | float))
    return ""


def _settings(line: str, env: object) -> str:
    """The variables that a command uses, as assignments before it: the payload may sit in one of them."""
    if not isinstance(env, dict) or "$" not in line:
        return ""
    used = set(re.findall(r"\$\{?(\w+)", line))
    return "".join(f"{key}={_quote(str(env[key]))}; " for key in env if key in used)


def _quote(value: str) -> str:
    """A value in quotes; one that names another variable keeps its meaning."""
    return f'"{value}"' if "$" in value and not re.search(r'["\\`]|\$\(', value) else shlex.quote(value)


def strings_of(value: object) -> list[str]:
    """A string or a list of strings as a list."""
    if isinstance(value, str):
        return [value]
    return [element for element in value if isinstance(element, str)] if isinstance(value, list) else []


def dict_of(value: Any) -> dict[str, Any]:
    """A value that should be an object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def walk(value: Any) -> "list[tuple[tuple[str, ...], str]]":
    """Every string in a value with the keys that lead to it, in order."""
    leaves: list[tuple[tuple[str, ...], str]] = []
    pending: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while pending and len(leaves) < _MAX_LEAVES:
        keys, one = pending.pop()
        if isinstance(one, str):
            leaves.append((keys, one))
        elif isinstance(one, dict):
            pending.extend(((*keys, str(key)), inner) for key, inner in reversed(one.items()))
        elif isinstance(one, list | tuple):
            pending.extend((keys, inner) for inner in reversed(one))
    return leaves


_RUNS = lazy(
    r"^(command|commands|cmd|cmds|run|runs|script|exec|execute|shell|bash|sh|entrypoint|entry_?point|(pre|post|on|before|after)_?"
    r"(install|start|run|create|build|load|exec|hook|setup|update|init|startup)\w*|startup|start_?command|install_?command"
    r"|install_?cmd|setup_?command|build_?command|init_?script|bootstrap|launch|exec_?start|shell_?cmd|hook|payload|action)$",
    re.IGNORECASE,
)
_COMMAND = lazy(
    r"^\s*(?:sudo\s+)?(?:\./|~/|/|[a-z_][\w.+-]*/)?[A-Za-z_][\w.+/-]*(?:\s+\S|$)|\$\(|`|\|\s*(?:ba|z|da)?sh\b|&&|>\s*/|^\s*#!",
)
# A command line under whatever key: a program that fetches or runs things, with an operator of the shell.
_LOUD = lazy(
    r"\s*(?:sudo\s+)?(?:/\S{1,60}/)?(?:curl|wget|bash|sh|zsh|python3?|node|perl|ruby|php|powershell|pwsh|cmd|echo|printf|eval|exec"
    r"|nc|ncat|cat|base64|osascript|export|tar|zip|find|grep|env|printenv|gpg|openssl|dd|nohup|ssh|scp"
    r"|rsync|git|docker|npx|pip3?)\s[^\n]{0,2000}?(?:\||&&|;|\$\(|>|`)"
)
_ADDRESS = lazy(r"\s*[a-z][a-z0-9+.-]{1,20}://\S{1,2000}\s*$", re.IGNORECASE)
_SENDS = lazy(
    r"(^|[._-])(upload|exfil|send|post|report|beacon|collector?|sink|drop|ship|forward|telemetry|ingest|c2|callback|webhook"
    r"|phone_?home|destination|deliver|submit|push|notify|backup|sync|mirror)(([._-])?(to|url|uri|endpoint|host|address|server|target))?$",
    re.IGNORECASE,
)
_TALKS = lazy(
    r"(^|[._-])(base_?url|api_?(url|base|host)|endpoint|proxy|server_?url|token_?(url|endpoint)|auth_?(url|endpoint)|gateway|relay|host|url|uri)$",
    re.IGNORECASE,
)
_COLLECTS = lazy(
    r"(^|[._-])(collect\w*|harvest\w*|gather|steal|grab|targets?|paths?|files?|include[sd]?|sources?|read|items|attach\w*|upload\w*|backup\w*|watch)$",
    re.IGNORECASE,
)
_PROSE_KEYS = lazy(
    r"^(description|instructions?|prompts?|system(_?prompt)?|message|content|text|body|note|notes|template|guidance|rules?"
    r"|persona|context|usage|help|summary|tooltip|greeting|example|steps?|details|default_?prompt|initial_?prompt)s?$",
    re.IGNORECASE,
)
_HASHES = lazy(r"(?:^[ \t]*#[^\n]*\n?)+", re.MULTILINE)
_SLASHES = lazy(r"(?:^[ \t]*//[^\n]*\n?)+|^[ \t]*/\*[^*]{1,20000}\*/", re.MULTILINE)
_MIN_WORDS = 8
_MAX_PROSE = 60
_MIN_PROSE = 40


def read_strings(sheet: ConfigSheet, tree: Any, *, commands: bool) -> None:
    """Look at every string: as a command (unless a reader took those), an address, a path to a secret, a text."""
    secrets: list[tuple[tuple[str, ...], str]] = []
    sends: list[tuple[tuple[str, ...], str]] = []
    prose: list[tuple[tuple[str, ...], str]] = []
    for keys, value in walk(tree):
        key = keys[-1] if keys else ""
        if "://" in value[:40] and _ADDRESS.match(value):
            _read_address(sheet, keys, value.strip(), sends)
        elif len(value) < 20_000 and _is_command(key if commands else "", value):
            sheet.run(value, *keys)
        elif len(value) >= _MIN_PROSE and " " in value:
            prose.append((keys, value))
        if len(value) < 300 and "/" in value and _COLLECTS.search(key) and find_secret_path(value):
            secrets.append((keys, value))
    _join(sheet, secrets, sends)
    _hold_prose(sheet, prose)


def read_comments(sheet: ConfigSheet, form: str) -> None:
    """Comments of a file as texts: programs skip them, models read them."""
    text = sheet.document.text
    if sheet.document.origin or ("//" if form == "json" else "#") not in text:
        return
    if not any(_begins_a_line(text, mark) for mark in (("//", "/*") if form == "json" else ("#",))):
        return
    blocks = (_SLASHES if form == "json" else _HASHES).finditer(text)
    for match in islice((block for block in blocks if block[0].count(" ") >= _MIN_WORDS), _MAX_PROSE):
        words = re.sub(r"^[ \t]*(?://+|#+|/\*+|\*+/?)[ \t]?", "", match[0], flags=re.MULTILINE)
        child = make_child(sheet.document, words, "markdown", "comment", match.start(), flat=False)
        sheet.children.append(child)


def _begins_a_line(text: str, mark: str) -> bool:
    """Return whether a mark stands first in a line: most of them are parts of addresses."""
    at = text.find(mark)
    while at >= 0:
        first = at
        while first and text[first - 1] in " \t":
            first -= 1
        if not first or text[first - 1] == "\n":
            return True
        at = text.find(mark, at + 1)
    return False


def _is_command(key: str, value: str) -> bool:
    return bool(_LOUD.match(value) or (_RUNS.match(key) and _COMMAND.search(value)))


def _read_address(
    sheet: ConfigSheet, keys: tuple[str, ...], value: str, sends: list[tuple[tuple[str, ...], str]]
) -> None:
    key = keys[-1] if keys else ""
    if _SENDS.search(key):
        sends.append((keys, value))
    elif _TALKS.search(key) and key.lower() not in ("url", "uri", "host"):
        sheet.add(Kind.FETCH, value, *keys, via=f"{key}: {value}")


def _join(
    sheet: ConfigSheet, secrets: list[tuple[tuple[str, ...], str]], sends: list[tuple[tuple[str, ...], str]]
) -> None:
    """Secrets named beside a place to send to flow there: the configuration is the program."""
    if not sends:
        return  # a list of such paths alone may as well say what to keep away from
    reads: list[Fact] = [sheet.add(Kind.READ, value, *keys, via=value) for keys, value in secrets[:200]]
    for keys, value in sends[:200]:
        sheet.add(Kind.SEND, value, *keys, via=f"{keys[-1]}: {value}", sources=tuple(reads))


def _hold_prose(sheet: ConfigSheet, prose: list[tuple[tuple[str, ...], str]]) -> None:
    """Texts that a model may read: each a document of its own; very many small ones become one."""
    if "frontmatter" in sheet.document.origin:
        return  # its words are part of the skill's text and are read there
    for keys, value in prose[:_MAX_PROSE]:
        if _PROSE_KEYS.match(keys[-1] if keys else "text") or len(value) > 200:
            sheet.hold(value, "markdown", "config", *keys)
    rest = "\n\n".join(value for _, value in prose[_MAX_PROSE:])
    if rest:
        sheet.hold(rest, "markdown", "config", shown=prose[_MAX_PROSE][1])
