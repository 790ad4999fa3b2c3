"""Collects what there is to say about one text while it is read, with the line of every key."""

import re
from functools import lru_cache

from msgspec import Struct

from clawft.errors import Diagnostic, Edit, Severity

__all__ = ["Notes", "quote_yaml"]

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")


class Notes(Struct, gc=False):
    """The diagnostics of one file. `source` is the YAML part, which starts at `start` of the whole text."""

    path: str
    source: str = ""
    start: int = 0
    first_line: int = 1
    found: list[Diagnostic] = []

    def add(  # noqa: PLR0913  (all but the first three are named)
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
        """The line of a root-level key in the file; the first line of the source when it is not there."""
        if self.source.startswith(f"{key}:"):  # as the name does, in most files
            return self.first_line
        match = self._key(key)
        return self.first_line + (self.source.count("\n", 0, match.start()) if match else 0)

    @property
    def last_line(self) -> int:
        """The line that ends the source: where the body begins."""
        return self.first_line + self.source.count("\n")

    def rename_key(self, key: str, to: str) -> tuple[Edit, ...]:
        """The edit that spells a root-level key differently."""
        match = self._key(key)
        return (Edit(self.start + match.start(1), self.start + match.end(1), to),) if match else ()

    def replace_value(self, key: str, to: str) -> tuple[Edit, ...]:
        """The edit that replaces the one-line value of a root-level key."""
        match = self._key(key)
        if match is None or not match[2].strip() or match[2].lstrip()[0] in "|>&":
            return ()
        follows = self.source[match.end() + 1 : match.end() + 2]
        if follows in (" ", "\t", "-"):  # the value goes on in the next line
            return ()
        return (Edit(self.start + match.start(2), self.start + match.end(2), " " + to),)

    def written_value(self, key: str) -> str:
        """The value of a root-level key as it stands in the file, before YAML made a number of it."""
        match = self._key(key)
        return match[2].split(" #")[0].strip().strip("'\"") if match else ""

    def insert_top(self, line: str) -> tuple[Edit, ...]:
        """The edit that adds a line at the top of the source."""
        return (Edit(self.start, self.start, line + "\n"),)

    def _key(self, key: str) -> re.Match[str] | None:
        return _find_key(key).search(self.source)


@lru_cache
def _find_key(key: str) -> re.Pattern[str]:
    return re.compile(rf"^(['\"]?{re.escape(key)}['\"]?)[ \t]*:([^\n]*)$", re.MULTILINE)


def quote_yaml(text: str) -> str:
    """A text as a double-quoted YAML scalar on one line."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return '"' + _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
