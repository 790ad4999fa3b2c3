"""PowerShell scripts and command lines: what they would do when they ran."""

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.languages.commands import World
from clawft.scan.languages.powershell.cmdlets import run_command
from clawft.scan.languages.powershell.members import call_member
from clawft.scan.languages.powershell.reader import Reader
from clawft.scan.languages.windows import find_windows

__all__ = ["analyse"]

# Words around which a script of many megabytes is read.
_MARKS = (
    "iex", "IEX", "Invoke-", "invoke-", "http:", "https:", "Download", "FromBase64", "Start-Process", "$env:",
    "powershell", "-enc", "iwr", "irm", "Get-Content",
    "Net.", "[char", "-join", "Register-", "schtasks", "Set-MpPreference", "Get-Clipboard", ".ssh",
)  # fmt: skip


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    world = World(document)
    reader = Reader(document.text, world, run_command, call_member)
    for begin, end in find_windows(document.text, _MARKS):
        reader.read_script(begin, end)
    return world.finish()
