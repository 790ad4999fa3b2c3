"""A stranger's text made visible, and what a report says in words: what hides in it shows, and harms nothing."""

import re

from clawft.scan.findings import ON_LOAD, Finding, Power
from clawft.scan.reports.excerpt import Excerpt

__all__ = ["describe_evidence", "describe_origin", "describe_power", "reveal"]

# Controls, direction marks, characters without width, tags and variation selectors: what a reader does not see.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_ORIGINS = {  # how a text was reached; what is not listed, such as "base64", is its own word
    "appended": "data after the end of a file",
    "archive": "an archive",
    "code": "a code block",
    "comment": "a comment",
    "compressed": "compressed data",
    "config": "a setting",
    "exec": "a command line",
    "fence": "a code block",
    "frontmatter": "the frontmatter",
    "hidden-span": "hidden text",
    "hook": "a hook",
    "html-comment": "an HTML comment",
    "image-alt": "the text of a picture",
    "inline-code": "code in a sentence",
    "link-comment": "a comment that looks like a link",
    "member": "a packed file",
    "metadata": "metadata",
    "name": "the name of a file",
    "pyc": "bytecode",
    "trailing-data": "data after the end of a file",
}
_POWERS = {
    "network": "network",
    "exec": "programs",
    "files": "files",
    "env": "variables",
    "persistence": "persistence",
    "hooks": "hooks",
    "tools": "tools",
}


def reveal(text: str) -> str:
    """A text with what cannot be seen written out, on one line. Runs of it are counted."""
    return _INVISIBLE.sub(_name, text.replace("\t", "    "))


def describe_evidence(finding: Finding, excerpt: Excerpt | None) -> str:
    """How the evidence was reached, for what the lines themselves do not show: "Found in base64 in a code block"."""
    if excerpt is not None and _shows(excerpt, finding.evidence):
        return ""
    if finding.origin:
        return f"Found in {describe_origin(finding)}"
    return "Found" if excerpt is None else "Read as"


def describe_origin(finding: Finding) -> str:
    """How the text of a finding was reached, in words; '' where it stands in the file as it is."""
    return " in ".join(_ORIGINS.get(one, one.replace("-", " ")) for one in reversed(finding.origin))


def describe_power(power: Power) -> list[tuple[str, tuple[str, ...]]]:
    """What a skill would use, kind by kind, without the kinds of which there is nothing."""
    parts = [(label, tuple(map(_plain, getattr(power, field)))) for field, label in _POWERS.items()]
    commands = tuple(one.removeprefix(f"{ON_LOAD} ") for one in power.hooks if one.startswith(ON_LOAD))
    if commands:
        hooks = tuple(one for one in power.hooks if not one.startswith(ON_LOAD))
        parts = [("hooks", hooks) if label == "hooks" else (label, values) for label, values in parts]
        parts.append(("commands as it is loaded", commands))
    return [(label, values) for label, values in parts if values]


def _plain(value: str) -> str:
    """`{}` is what the scanner writes for what is only known when a program runs."""
    return value.replace("{}", "…")


def _shows(excerpt: Excerpt, evidence: str) -> bool:
    """Whether a reader of the lines sees the evidence."""
    marked = " ".join(text for number, text in excerpt.lines if excerpt.first <= number <= excerpt.last)
    return not _INVISIBLE.search(marked) and evidence.strip("… ") in " ".join(marked.split())


def _name(run: re.Match[str]) -> str:
    text = run[0]
    first = f"U+{ord(text[0]):04X}"
    return f"<{first}>" if len(text) == 1 else f"<{first} and {len(text) - 1} more unseen>"
