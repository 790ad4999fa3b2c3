"""What a view has noticed on its way through a text: the way it hides something, the line, and what shows it."""

from msgspec import Struct

__all__ = ["LineCounter", "Note"]


class Note(Struct, frozen=True, gc=False):
    """One thing that was hidden: how, how many lines into the text, and what shows it."""

    target: str
    line: int
    via: str


class LineCounter:
    """Tells the lines of offsets that only grow, in one pass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 0

    def count(self, offset: int) -> int:
        """How many lines stand before an offset."""
        self.line += self.text.count("\n", self.at, offset)
        self.at = max(self.at, offset)
        return self.line
