"""PowerShell scripts and command lines: what they would do when they ran."""

from clawft.scanner.facts import Analysis, Document
from clawft.scanner.languages.commands import CommandContext
from clawft.scanner.languages.long_texts import find_windows
from clawft.scanner.languages.powershell.cmdlets import run_command
from clawft.scanner.languages.powershell.members import call_member
from clawft.scanner.languages.powershell.reader import PowerShellReader

__all__ = ["analyse"]

# Words around which a script of many megabytes is read.
_MARKS = (
    "iex", "IEX", "Invoke-", "invoke-", "http:", "https:", "Download", "FromBase64", "Start-Process", "$env:",
    "powershell", "-enc", "iwr", "irm", "Get-Content",
    "Net.", "[char", "-join", "Register-", "schtasks", "Set-MpPreference", "Get-Clipboard", ".ssh",
)  # fmt: skip


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    world = CommandContext(document)
    reader = PowerShellReader(document.text, world, run_command, call_member)
    for begin, end in find_windows(document.text, _MARKS):
        reader.read_script(begin, end)
    return world.finish()
