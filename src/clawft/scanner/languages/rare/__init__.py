"""Languages that skills are seldom written in: one small reader of calls for all of them, driven by tables.

It knows how each is written only as far as to find strings, names, brackets and the ends of statements. A call takes
what stands to its right; its value flows on to the left and into the name that it is given to. That is coarse, and it
is enough to see a key read here and sent there, or a command line that is run.
"""

from clawft.scanner.facts import Analysis, Document
from clawft.scanner.languages.commands import CommandContext
from clawft.scanner.languages.long_texts import find_windows
from clawft.scanner.languages.rare.effects import EFFECTS
from clawft.scanner.languages.rare.manners import get_rare_language
from clawft.scanner.languages.rare.reader import RareLanguageReader

__all__ = ["analyse"]

_MARKS = ("http", "exec", "system", "shell", "Shell", "process", "Process", ".ssh", ".aws", "curl", "cmd", "run")


def analyse(document: Document) -> Analysis:
    """The facts of a program in one of the rare languages."""
    world = CommandContext(document)
    reader = RareLanguageReader(world, get_rare_language(document.language), document.language, EFFECTS)
    for begin, end in find_windows(document.text, _MARKS):
        reader.read(document.text[begin:end], begin)
    return world.finish()
