"""A place in a shell script, and how it moves over blanks, comments, line breaks and here-documents."""

import re
from collections.abc import Callable

from clawft.scan.languages.shell.nodes import Redirect, Word

__all__ = ["PROMPT", "Cursor"]

_BLANKS = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
PROMPT = re.compile(r"[ \t]*(?:\$|%|\u276f|\u279c|\xbb|[\w.-]+@[\w.-]+[^\s$#]{0,60}[$#%])[ \t]+(?=[^\s=])")


class Cursor:
    """A place that moves on."""

    def __init__(self, text: str, base: int, read_body: Callable[[str, int], Word | str]) -> None:
        self.text = text
        self.base = base  # where the text begins in the document
        self.at = 0
        self.depth = 0
        self.pending: list[Redirect] = []  # here-documents that begin after the line
        self._read_body = read_body

    def end_line(self) -> None:
        """Pass a line break, and the here-documents that begin after it."""
        self.at += 1
        if self.pending:
            pending, self.pending = self.pending, []
            for redirect in pending:
                self._here_document(redirect)
        if prompt := PROMPT.match(self.text, self.at):
            self.at = prompt.end()

    def _here_document(self, redirect: Redirect) -> None:
        mark = str(redirect.target)
        tabs = r"\t*" if redirect.strip else r"[ \t]*" if self.depth else ""
        end = re.compile(rf"^{tabs}{re.escape(mark)}[ \t\r]*$", re.MULTILINE).search(self.text, self.at)
        begin = self.at
        body = self.text[begin : end.start() if end else len(self.text)]
        if redirect.strip:
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        self.at = end.end() if end else len(self.text)
        redirect.target = body
        if not redirect.quoted and ("$" in body or "`" in body or "\\" in body):
            redirect.target = self._read_body(body, self.base + begin)

    def skip_blanks(self) -> None:
        if match := _BLANKS.match(self.text, self.at):
            self.at = match.end()

    def skip_blank_lines(self) -> None:
        """Blanks, line breaks and comments, after a `|`."""
        while self.at < len(self.text):
            self.skip_blanks()
            char = self.text[self.at : self.at + 1]
            if char == "\n":
                self.end_line()
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return
