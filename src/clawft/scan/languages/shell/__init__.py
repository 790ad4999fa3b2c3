"""Shell scripts, and single commands out of configs and fences: what they would do when they ran."""

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.languages.commands import World
from clawft.scan.languages.shell.evaluate import Evaluator
from clawft.scan.languages.shell.parse import Parser

__all__ = ["analyse"]


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    world = World(document)
    fish = document.language == "fish"
    Evaluator(world, fish=fish).run_script(Parser(document.text, fish=fish).read())
    return world.finish()
