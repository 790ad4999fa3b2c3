"""Fake prerequisites: a section that says what must be had first, where to get it, and to run it.

An ordinary prerequisite names a package or a project page. A fake one leads to a file or a page of somebody else: an
archive with its password beside it (so that no scanner opens it), a program to start, a command to paste.
"""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions import lures
from clawft.scan.instructions.late import Late, Together
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.sentences import Block, Sentence

__all__ = ["COMBINATIONS", "could_match", "find"]

# How the words begin without which no prerequisite can be.
_WORDS = Late(
    r"(?<![a-z])(?:ant|cop|dam|def|dow|dri|exe|ext|gat|gra|hel|ins|lau|nav|obt|pas|pow|pre|qua|req|run|ter|unp|unz|uti|vis)",
    re.IGNORECASE,
)
_NEED = Late(
    r"\bprerequisites?\b|\brequire(?:s|d|ment|ments)?\b|\bmust (?:be|first|have|install|download|run)\b"
    r"|\bneeds? (?:to (?:be )?(?:install|download|run)|the )"
    r"|\b(?:before|prior to) (?:using|you|running|proceeding|continuing|setting|starting|downloading|the skill|any"
    r"|first use|it)\b|\bwill not (?:work|function|run|be)\b|\bwon't work\b"
    r"|\bwithout (?:it|this|the|[\w-]+ (?:installed|running))\b|\bfirst,? (?:install|download|get|run)\b"
    r"|\bis (?:mandatory|essential|needed|necessary)\b|\bdepends on\b|\bset ?up\b|\binstall(?:ation)?\b"
)
_URL = Late(
    r"https?://[^\s)\]>\"'`<|]+|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|xyz|top|site|online|cc|ru|cn|me|sh|co"
    r"|info|link|click|pw|to|gg|ai|space|store|tech|live|run)/[^\s)\]>\"'`<|]+"
)
_GET = Late(
    r"\b(?:download(?:ed|ing)?|get|grab|fetch|obtain|visit|go to|open|navigate to|head (?:over )?to|install(?:er)?"
    r"|from|here|available at)\b|\]\(http"
)
_PASSWORD = Late(
    r"\b(?:pass(?:word|phrase|code)?|pwd|pw|key)\b ?(?:is|=|:|-|\u2013)* ?[`'\"(]?[^\s`'\")]{2,40}"
    r"|\bextract(?:ed)? (?:it )?(?:using|with)(?: (?:the|pass\w*))*:? ?[`'\"]?\S{2,40}"
)
_ARCHIVE = Late(r"\b(?:extract|unzip|unpack|archive|zip|rar|7z|decompress)\w*\b|\.(?:zip|rar|7z|tar|tgz|gz)\b")
_RUN = Late(
    r"\b(?:run|execute|launch|start|open|double[- ]click|install) (?:on |it\b|the |this |that "
    r"|your )?(?:\w+[ -])?(?:executable|installer|binary|program|application|app|setup|exe|utility|agent|tool|driver"
    r"|file|package|script|it)\b"
    r"|\b(?:run|execute|launch|start|open|double[- ]click) (?:the )?[`'\"]?[\w.-]+\.(?:exe|msi|dmg|pkg|app|bat|cmd"
    r"|scr|ps1|command|jar|vbs|sh|run|appimage)\b"
)
_PROGRAM = Late(
    r"\.(?:exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|appimage|run|deb|rpm)\b|\bexecutable\b|\binstaller\b"
    r"|\bbinary\b"
)
_ARCHIVE_URL = Late(
    r"\.(?:zip|rar|7z|tar|tgz|gz|xz|bz2|exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|deb|rpm|appimage|run"
    r"|command)(?:[?#]|$)|/releases/(?:latest/)?download/"
)
_PASTE = Late(
    r"\b(?:copy|paste|copying|pasting)\b[^.]{0,120}\b(?:terminal|shell|command prompt|powershell|console"
    r"|command line|cmd|run dialog|win ?\+ ?r)\b"
    r"|\b(?:execute|run|enter)\b[^.]{0,60}\b(?:command|script|line)s?\b[^.]{0,60}\b(?:in|into|from|using|inside"
    r"|via) (?:the |your |a )?(?:\w+ )?(?:terminal|shell|command prompt|powershell|console)\b"
)
_PAGE = Late(
    r"\b(?:visit|go to|open|navigate to|head (?:over )?to|from|at|see|on|browse to)\b[^.]{0,40}(?:\]\(|https?://"
    r"|\bthis (?:page|link|site|url|snippet|gist|paste)\b|\bpage\b|\blink\b)"
)

# What a section needs to ask for one: one of these.
COMBINATIONS = (Together(_ARCHIVE, _PASSWORD), Together(_RUN), Together(_PASTE), *lures.COMBINATIONS)


def could_match(block: str) -> bool:
    """Whether a block may be a part of one."""
    return _WORDS.search(block) is not None


def find(section: list[Block], headings: tuple[str, ...]) -> Iterator[tuple[Order, Block, Sentence]]:
    """Each place of a section that something must be had from, with what is asked for around it."""
    flat = [(block, one) for block in section for one in block.sentences]
    title = " ".join(headings[-2:]).lower()
    needed = _NEED.search(title) is not None or any(_NEED.search(one.text) for _, one in flat)
    for index, (block, sentence) in enumerate(flat):
        own = sentence.text
        near = " ".join(one.text for _, one in flat[index : index + 3])
        if contact := lures.find_contact(own, near):
            yield Order(Kind.PREREQUISITE, contact.via, 0, own[:160], (contact,)), block, sentence
        if not (_GET.search(own) and (url := _URL.search(own))):
            continue
        address = url[0].rstrip(".,;:)")
        around = " ".join(one.text for _, one in flat[max(0, index - 1) : index + 3])
        found = [*lures.find_lures(_URL.sub(" ", around)), *(_find_needed(own, near, address) if needed else ())]
        if found:
            sources = (Order(Kind.FETCH, address, url.start(), own[:120]), *found)
            yield Order(Kind.PREREQUISITE, address, 0, own[:160], sources), block, sentence


def _find_needed(own: str, near: str, address: str) -> Iterator[Order]:
    """What is asked for around an address in a section on what must be had first."""
    bare = _URL.sub(" ", near)
    if _ARCHIVE.search(near) and (password := _PASSWORD.search(bare)):
        yield Order(Kind.LOCKED, "password given", 0, password[0])
    if (run := _RUN.search(bare)) and (_PROGRAM.search(near) or _ARCHIVE_URL.search(address)):
        yield Order(Kind.EXEC, "the downloaded program", 0, run[0])
    if (paste := _PASTE.search(near)) and _PAGE.search(own):
        yield Order(Kind.EXEC, "a command pasted from a page", 0, paste[0])
