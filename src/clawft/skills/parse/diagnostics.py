"""Collect the diagnostics of one text while it is parsed, with lines and the edits that fix them."""

import re

from msgspec import Struct

from clawft.errors import Diagnostic, Edit, Severity

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_SAFE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


class _Key(Struct, frozen=True, gc=False):
    """A root-level key: where it and its value on the same line stand in the source, and on which line."""

    start: int
    end: int
    value: int
    stop: int
    line: int


class DiagnosticCollector(Struct, gc=False):
    """The diagnostics of one file. `source` is the YAML part, which starts at `start` of the whole text."""

    path: str
    source: str = ""
    start: int = 0
    first_line: int = 1
    found: list[Diagnostic] = []
    keys: dict[str, _Key] | None = None

    def add(
        self,
        code: str,
        severity: Severity,
        message: str,
        *,
        key: str = "",
        line: int = 0,
        hint: str = "",
        fix: tuple[Edit, ...] = (),
    ) -> None:
        """Say something; a `key` gives its line, else `line` counts within the file."""
        where = self.line_of(key) if key else line
        self.found.append(Diagnostic(code, severity, message, self.path, where, hint, fix))

    def line_of(self, key: str) -> int:
        """The line of a root-level key, or of the one that `key` is inside of; else the first line of the source."""
        if self.source.startswith(f"{key}:"):  # as the name does, in most files
            return self.first_line
        at = self._find(key) or self._find(key.partition(".")[0]) or self._find("metadata")
        return self.first_line + (at.line if at else 0)

    @property
    def last_line(self) -> int:
        """The line that ends the source: where the body begins."""
        return self.first_line + self.source.count("\n")

    def rename_key(self, key: str, to: str) -> tuple[Edit, ...]:
        """The edit that spells a root-level key differently."""
        at = self._find(key)
        return (Edit(self.start + at.start, self.start + at.end, to),) if at else ()

    def replace_value(self, key: str, to: str) -> tuple[Edit, ...]:
        """The edit that replaces the one-line value of a root-level key."""
        at = self._find(key)
        if at is None:
            return ()
        written = self.source[at.value : at.stop].strip()
        if written[:1] in ("|", ">", "&"):
            return ()
        if written[:1] in ("'", '"') and (len(written) == 1 or written[-1] != written[0]):  # ends on a later line
            return ()
        if self.source[at.stop + 1 : at.stop + 2] in (" ", "\t", "-"):  # the value goes on in the next line
            return ()
        comment = -1 if written[:1] in ("'", '"') else self.source.find(" #", at.value, at.stop)
        return (Edit(self.start + at.value, self.start + (at.stop if comment < 0 else comment), " " + to),)

    def set_value(self, key: str, to: str) -> tuple[Edit, ...]:
        """The edit that gives a key its value: where it stands empty, or at the top where it is not there."""
        if self._find(key):
            return self.replace_value(key, to)
        indent = self.source[: len(self.source) - len(self.source.lstrip(" "))]
        if self.source[len(indent) : len(indent) + 1] == "{":  # one flow mapping: there are no lines to add one to
            return ()
        return (Edit(self.start, self.start, f"{indent}{key}: {to}\n"),)

    def written_value(self, key: str) -> str:
        """The value of a key as it stands in the file, before YAML made a number or a list of it."""
        at = self._find(key)
        if at:
            return self.source[at.value : at.stop].split(" #")[0].strip().strip("'\"")
        inner = re.search(rf"\b{re.escape(key)}[\"']?\s*:\s*([\w.+-]+)", self.source)
        return inner[1] if inner else ""

    def _find(self, key: str) -> _Key | None:
        if self.keys is None:
            self.keys = _index(self.source)
        return self.keys.get(key) or self.keys.get(_fold(key))


def _index(source: str) -> dict[str, _Key]:
    """The keys at the outermost level, under the spelling they have and folded to the usual one."""
    keys: dict[str, _Key] = {}
    indent = source[: len(source) - len(source.lstrip(" "))]
    offset = 0
    for number, line in enumerate(source.split("\n")):
        name, colon, value = line[len(indent) :].partition(":")
        if colon and line.startswith(indent) and name[:1].strip():
            start, value_at = offset + len(indent), offset + len(line) - len(value)
            key = _Key(start, start + len(name.rstrip()), value_at, offset + len(line), number)
            spelled = name.strip().strip("'\"")
            keys.setdefault(spelled, key)
            keys.setdefault(_fold(spelled), key)
        offset += len(line) + 1
    return keys


def _fold(key: str) -> str:
    return key.lower().replace("_", "-").replace(" ", "-")


def quote_yaml(text: str) -> str:
    """A text as a YAML scalar on one line: plain if it is a simple word, else in double quotes."""
    if _SAFE.fullmatch(text) and text not in _WORDS:
        return text
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return '"' + _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
