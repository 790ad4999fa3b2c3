"""A document: one text to analyse, and where in the skill it comes from.

A file is a document, and so is whatever a document turns out to hold: a fenced block, a decoded string, a member of
an archive, a command line in a config. Each such child is analysed like any file, so a disguise is undone once and
every rule sees through it. Views never add or remove a line break: lines stay those of the file.
"""

from bisect import bisect_right

from msgspec import Struct, structs

__all__ = ["Document", "make_child"]

MAX_DEPTH = 8


class Document(Struct, frozen=True, eq=False, dict=True):
    """A text with its language, and the way it was found."""

    path: str  # below the skill folder; "assets/a.zip!run.sh" for a member of an archive
    text: str
    language: str  # a key of languages.ANALYSERS; "text" when nothing better is known
    line: int = 1  # the line of the file on which the text begins
    flat: bool = False  # all of it stands on that one line (it was decoded from there)
    origin: tuple[str, ...] = ()  # how it was reached: "fence", "html-comment", "base64", "archive", "exec", …
    context: str = ""  # for a fence: its heading and the paragraph before it
    mention: bool = False  # it shows an attack rather than makes one: quoted, negated, "detects …", a test fixture
    searched: bool = False  # what is encoded in it was found already: so it was for every piece that is cut out of it

    def line_at(self, offset: int) -> int:
        """The line of the file on which a character stands."""
        if self.flat:
            return self.line
        starts: list[int] | None = self.__dict__.get("starts")
        if starts is None:
            starts = [0]
            find, at = self.text.find, self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self.__dict__["starts"] = starts
        return self.line + bisect_right(starts, offset) - 1

    def text_of(self, line: int) -> str:
        """The text of one line of the file, as far as it belongs to this document; all of it when that is one line."""
        if self.flat:
            return self.text
        self.line_at(0)
        starts: list[int] = self.__dict__["starts"]
        index = line - self.line
        if not 0 <= index < len(starts):
            return ""
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(self.text)
        return self.text[starts[index] : end]

    @property
    def depth(self) -> int:
        return len(self.origin)


def make_child(parent: Document, text: str, language: str, how: str, offset: int, *, flat: bool = True) -> Document:
    """A document found in another one at an offset; `flat` unless its lines are lines of the file."""
    return structs.replace(
        parent,
        text=text,
        language=language,
        line=parent.line_at(offset),
        flat=flat or parent.flat,
        origin=(*parent.origin, how),
        searched=parent.searched and not flat and parent.text.startswith(text, offset),
    )
