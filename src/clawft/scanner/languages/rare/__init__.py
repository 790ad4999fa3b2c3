"""Languages that skills are seldom written in: one small reader of calls for all of them, driven by tables.

It knows how each is written only as far as to find strings, names, brackets and the ends of statements. A call takes
what stands to its right; its value flows on to the left and into the name that it is given to. That is coarse, and it
is enough to see a key read here and sent there, or a command line that is run.
"""

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.languages.commands import World
from clawft.scan.languages.rare.reader import Reader
from clawft.scan.languages.rare.tables import find_manner
from clawft.scan.languages.windows import find_windows

__all__ = ["analyse"]

_MARKS = ("http", "exec", "system", "shell", "Shell", "process", "Process", ".ssh", ".aws", "curl", "cmd", "run")


def analyse(document: Document) -> Analysis:
    """The facts of a program in one of the rare languages."""
    world = World(document)
    reader = Reader(world, find_manner(document.language), document.language)
    for begin, end in find_windows(document.text, _MARKS):
        reader.read(document.text[begin:end], begin)
    return world.finish()
