"""Shell scripts, and single commands out of configs and fences: what they would do when they ran."""

import re

from clawft.scanner.facts import Analysis, Document
from clawft.scanner.languages.commands import CommandContext
from clawft.scanner.languages.long_texts import find_windows
from clawft.scanner.languages.shell.evaluator import ShellEvaluator
from clawft.scanner.languages.shell.parser import ShellParser

__all__ = ["analyse"]

# Words around which a script of many megabytes is read.
_MARKS = (
    "curl", "wget", "base64", "eval", "/dev/tcp", "python", "node -", "perl", "ruby", "nc ", "ncat", "socat", "ssh",
    "scp", "openssl", "http:", "https:", "ftp:", ".ssh", ".aws", ".env", "crontab", "chmod", "bash", "| sh", "|sh",
    "sh -c", "sudo", "rm -", "dd ", "xxd", "exec", "printenv", "env |", "git push", "dig ", "nslookup", "launchctl",
    "systemctl", ".bashrc", ".zshrc", "osascript", "$IFS", "${IFS", "rev", "tr ", "gunzip", "npm ", "pip ", "mail",
    "keychain", "/etc/",
)  # fmt: skip

# One command that no shell but that of Windows would take: its brackets are not quoted.
_FOR_WINDOWS = re.compile(r"\s*(?:powershell|pwsh)(?:\.exe)?[ \t][^\n'\"]*\([^\n]*$", re.IGNORECASE)


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    if _FOR_WINDOWS.match(document.text):
        from clawft.scanner.languages import batch

        return batch.analyse(document)
    world = CommandContext(document)
    fish = document.language == "fish"
    evaluator = ShellEvaluator(world, fish=fish)
    for begin, end in find_windows(document.text, _MARKS):
        text = document.text if end - begin == len(document.text) else document.text[begin:end]
        evaluator.run_script(ShellParser(text, base=begin, fish=fish).read())
    return world.finish()
