"""Every string of a configuration: command lines, addresses that data goes to, text that a model will read.

What no reader of a known format took is judged by its key and its look. Lists of secrets beside an address are a
plan to send them, so they become a flow.
"""

import re
from itertools import islice
from typing import Any

from clawft.scan.documents import make_child
from clawft.scan.facts import Fact, Kind
from clawft.scan.languages.config.sheet import Sheet, walk
from clawft.scan.lazy import lazy
from clawft.scan.vocabulary.secrets import find_secret_path

__all__ = ["read_comments", "read_strings"]

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


def read_strings(sheet: Sheet, tree: Any, *, commands: bool) -> None:
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


def read_comments(sheet: Sheet, form: str) -> None:
    """Comments of a file as texts: programs skip them, models read them."""
    text = sheet.document.text
    if sheet.document.origin or ("//" if form == "json" else "#") not in text:
        return
    if not any(_begins_a_line(text, mark) for mark in (("//", "/*") if form == "json" else ("#",))):
        return
    blocks = (_SLASHES if form == "json" else _HASHES).finditer(text)
    for match in islice((one for one in blocks if one[0].count(" ") >= _MIN_WORDS), _MAX_PROSE):
        words = re.sub(r"^[ \t]*(?://+|#+|/\*+|\*+/?)[ \t]?", "", match[0], flags=re.MULTILINE)
        child = make_child(sheet.document, words, "markdown", "comment", match.start(), flat=False)
        sheet.children.append(child)


def _begins_a_line(text: str, mark: str) -> bool:
    """Whether a mark stands first in a line: most of them are parts of addresses."""
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


def _read_address(sheet: Sheet, keys: tuple[str, ...], value: str, sends: list[tuple[tuple[str, ...], str]]) -> None:
    key = keys[-1] if keys else ""
    if _SENDS.search(key):
        sends.append((keys, value))
    elif _TALKS.search(key) and key.lower() not in ("url", "uri", "host"):
        sheet.add(Kind.FETCH, value, *keys, via=f"{key}: {value}")


def _join(sheet: Sheet, secrets: list[tuple[tuple[str, ...], str]], sends: list[tuple[tuple[str, ...], str]]) -> None:
    """Secrets named beside a place to send to flow there: the configuration is the program."""
    if not sends:
        return  # a list of such paths alone may as well say what to keep away from
    reads: list[Fact] = [sheet.add(Kind.READ, value, *keys, via=value) for keys, value in secrets[:200]]
    for keys, value in sends[:200]:
        sheet.add(Kind.SEND, value, *keys, via=f"{keys[-1]}: {value}", sources=tuple(reads))


def _hold_prose(sheet: Sheet, prose: list[tuple[tuple[str, ...], str]]) -> None:
    """Texts that a model may read: each a document of its own; very many small ones become one."""
    if "frontmatter" in sheet.document.origin:
        return  # its words are part of the skill's text and are read there
    for keys, value in prose[:_MAX_PROSE]:
        if _PROSE_KEYS.match(keys[-1] if keys else "text") or len(value) > 200:
            sheet.hold(value, "markdown", "config", *keys)
    rest = "\n\n".join(value for _, value in prose[_MAX_PROSE:])
    if rest:
        sheet.hold(rest, "markdown", "config", shown=prose[_MAX_PROSE][1])
