"""PowerShell scripts and command lines: what they would do when they ran."""

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.languages.commands import World
from clawft.scan.languages.powershell.cmdlets import run_command
from clawft.scan.languages.powershell.members import call_member
from clawft.scan.languages.powershell.reader import Reader

__all__ = ["analyse"]


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    world = World(document)
    Reader(document.text, world, run_command, call_member).read_script()
    return world.finish()
