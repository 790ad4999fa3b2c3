"""A configuration under analysis: its text, and the facts and command lines found in it so far."""

import json
import re
import shlex
from typing import Any

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Fact, Kind

__all__ = ["Sheet", "as_command", "strings_of", "walk"]

MAX_CHILDREN = 2_000
_MAX_LEAVES = 100_000
_LARGE = 1 << 18


class Sheet:
    """Collects what one configuration gives."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts: list[Fact] = []
        self.children: list[Document] = []
        self.gaps: list[str] = []
        self._cursor = 0
        self._held: set[tuple[str, str]] = set()

    def locate(self, value: str, *keys: str) -> int:
        """Where a value stands, searched behind the keys that lead to it."""
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
            for name, one in command.items():
                self.run(one, *keys, str(name), hook=hook, env=env)
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
        """Whether the lines of a text are lines of the file from there on, as in a YAML block."""
        lines = text.rstrip("\n").split("\n")
        if len(lines) < 2 or self.document.flat:
            return False
        shown = self.document.text[at : at + 2 * len(text) + 200 * len(lines)].split("\n")
        return len(shown) >= len(lines) and all(
            a.strip()[:8] == b.strip()[:8] for a, b in zip(lines, shown, strict=False)
        )


def _first(command: object) -> str:
    if isinstance(command, list):
        return max((str(one) for one in command[:50]), key=len, default="")
    return str(command)


def as_command(value: object) -> str:
    """A command line as text; words in a list are quoted the way a shell reads them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return shlex.join(str(one) for one in value if isinstance(one, str | int | float))
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
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


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
