"""Shell scripts, and single commands out of configs and fences: what they would do when they ran."""

import re

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis
from clawft.scan.languages.commands import World
from clawft.scan.languages.shell.evaluate import Evaluator
from clawft.scan.languages.shell.parse import Parser
from clawft.scan.languages.windows import find_windows

__all__ = ["analyse"]

# Words around which a script of many megabytes is read.
_MARKS = (
    "curl", "wget", "base64", "eval", "/dev/tcp", "python", "node -", "perl", "ruby", "nc ", "ncat", "socat", "ssh",
    "scp", "openssl",
    "http:", "https:", "ftp:", ".ssh", ".aws", ".env", "crontab", "chmod", "bash", "| sh", "|sh", "sh -c", "sudo",
    "rm -", "dd ", "xxd",
    "exec", "printenv", "env |", "git push", "dig ", "nslookup", "launchctl", "systemctl", ".bashrc", ".zshrc",
    "osascript", "$IFS", "${IFS",
    "rev", "tr ", "gunzip", "npm ", "pip ", "mail", "keychain", "/etc/",
)  # fmt: skip

# One command that no shell but that of Windows would take: its brackets are not quoted.
_FOR_WINDOWS = re.compile(r"\s*(?:powershell|pwsh)(?:\.exe)?[ \t][^\n'\"]*\([^\n]*$", re.IGNORECASE)


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    if _FOR_WINDOWS.match(document.text):
        from clawft.scan.languages import batch

        return batch.analyse(document)
    world = World(document)
    fish = document.language == "fish"
    evaluator = Evaluator(world, fish=fish)
    for begin, end in find_windows(document.text, _MARKS):
        text = document.text if end - begin == len(document.text) else document.text[begin:end]
        evaluator.run_script(Parser(text, base=begin, fish=fish).read())
    return world.finish()
