"""Fake prerequisites: a section that says what must be had first, where to get it, and to run it.

An ordinary prerequisite names a package or a project page. A fake one leads to a file or a page of somebody else: an
archive with its password beside it (so that no scanner opens it), a program to start, a command to paste.
"""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.patterns import begins
from clawft.scan.instructions.sentences import Block, Sentence

__all__ = ["HEADS", "find"]

# How the words begin without which no prerequisite can be.
HEADS = begins(
    "download install prerequisite required extract unzip unpack password paste visit copy executable utility driver "
    "grab navigate obtain launch run execute terminal powershell"
)
_NEED = re.compile(
    r"\bprerequisites?\b|\brequire(?:s|d|ment|ments)?\b|\bmust (?:be|first|have|install|download|run)\b"
    r"|\bneeds? (?:to (?:be )?(?:install|download|run)|the )"
    r"|\b(?:before|prior to) (?:using|you|running|proceeding|continuing|setting|starting|downloading|the skill|any"
    r"|first use|it)\b|\bwill not (?:work|function|run|be)\b|\bwon't work\b"
    r"|\bwithout (?:it|this|the|[\w-]+ (?:installed|running))\b|\bfirst,? (?:install|download|get|run)\b"
    r"|\bis (?:mandatory|essential|needed|necessary)\b|\bdepends on\b|\bset ?up\b|\binstall(?:ation)?\b"
)
_URL = re.compile(
    r"https?://[^\s)\]>\"'`<|]+|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|xyz|top|site|online|cc|ru|cn|me|sh|co"
    r"|info|link|click|pw|to|gg|ai|space|store|tech|live|run)/[^\s)\]>\"'`<|]+"
)
_GET = re.compile(
    r"\b(?:download(?:ed|ing)?|get|grab|fetch|obtain|visit|go to|open|navigate to|head (?:over )?to|install(?:er)?"
    r"|from|here|available at)\b|\]\(http"
)
_PASSWORD = re.compile(
    r"\b(?:pass(?:word|phrase|code)?|pwd|pw|key)\b ?(?:is|=|:|-|\u2013)* ?[`'\"(]?[^\s`'\")]{2,40}"
    r"|\bextract(?:ed)? (?:it )?(?:using|with)(?: (?:the|pass\w*))*:? ?[`'\"]?\S{2,40}"
)
_ARCHIVE = re.compile(r"\b(?:extract|unzip|unpack|archive|zip|rar|7z|decompress)\w*\b|\.(?:zip|rar|7z|tar|tgz|gz)\b")
_RUN = re.compile(
    r"\b(?:run|execute|launch|start|open|double[- ]click|install) (?:on |it\b|the |this |that "
    r"|your )?(?:\w+[ -])?(?:executable|installer|binary|program|application|app|setup|exe|utility|agent|tool|driver"
    r"|file|package|script|it)\b"
    r"|\b(?:run|execute|launch|start|open|double[- ]click) (?:the )?[`'\"]?[\w.-]+\.(?:exe|msi|dmg|pkg|app|bat|cmd"
    r"|scr|ps1|command|jar|vbs|sh|run|appimage)\b"
)
_PROGRAM = re.compile(
    r"\.(?:exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|appimage|run|deb|rpm)\b|\bexecutable\b|\binstaller\b"
    r"|\bbinary\b"
)
_ARCHIVE_URL = re.compile(
    r"\.(?:zip|rar|7z|tar|tgz|gz|xz|bz2|exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|deb|rpm|appimage|run"
    r"|command)(?:[?#]|$)|/releases/(?:latest/)?download/"
)
_PASTE = re.compile(
    r"\b(?:copy|paste|copying|pasting)\b[^.]{0,120}\b(?:terminal|shell|command prompt|powershell|console"
    r"|command line|cmd|run dialog|win ?\+ ?r)\b"
    r"|\b(?:execute|run|enter)\b[^.]{0,60}\b(?:command|script|line)s?\b[^.]{0,60}\b(?:in|into|from|using|inside"
    r"|via) (?:the |your |a )?(?:\w+ )?(?:terminal|shell|command prompt|powershell|console)\b"
)
_PAGE = re.compile(
    r"\b(?:visit|go to|open|navigate to|head (?:over )?to|from|at|see|on|browse to)\b[^.]{0,40}(?:\]\(|https?://"
    r"|\bthis (?:page|link|site|url|snippet|gist|paste)\b|\bpage\b|\blink\b)"
)


def find(section: list[Block], headings: tuple[str, ...]) -> Iterator[tuple[Order, Block, Sentence]]:
    """Each place of a section that something must be had from, with what is asked for around it."""
    title = " ".join(headings[-2:]).lower()
    needed = _NEED.search(title) is not None or any(
        _NEED.search(one.text) for block in section for one in block.sentences
    )
    if not needed:
        return
    flat = [(block, one) for block in section for one in block.sentences]
    for index, (block, sentence) in enumerate(flat):
        if not (_GET.search(sentence.text) and (url := _URL.search(sentence.text))):
            continue
        near = " ".join(one.text for _, one in flat[index : index + 3])
        own = sentence.text
        address = url[0].rstrip(".,;:)")
        sources = [Order(Kind.FETCH, address, url.start(), own[:120])]
        if _ARCHIVE.search(near) and (password := _PASSWORD.search(_URL.sub(" ", near))):
            sources.append(Order(Kind.LOCKED, "password given", 0, password[0]))
        if (run := _RUN.search(_URL.sub(" ", near))) and (_PROGRAM.search(near) or _ARCHIVE_URL.search(address)):
            sources.append(Order(Kind.EXEC, "the downloaded program", 0, run[0]))
        if (paste := _PASTE.search(near)) and _PAGE.search(own):
            sources.append(Order(Kind.EXEC, "a command pasted from a page", 0, paste[0]))
        if len(sources) > 1:
            yield Order(Kind.PREREQUISITE, address, 0, own[:160], tuple(sources)), block, sentence
