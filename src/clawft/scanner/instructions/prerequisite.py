"""Fake prerequisites: a section or a lure that leads the reader to run an untrusted program."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Kind
from clawft.scanner.instructions.patterns import AllPatterns, LateRegex, SentenceOrder
from clawft.scanner.instructions.sentences import ProseBlock, Sentence

# The reader is to lower a protection so that it runs.
_GUARD = LateRegex(
    r"\b(?:disable|pause|turn|switch|get past|click past|deactivate|exclusion|whitelist|allow|ignore|bypass|remove"
    r"|accept|click through|dismiss)\b[^.]{0,80}\b(?:anti-?virus|virus scanner|defender|gatekeeper|smartscreen"
    r"|protection programs?|quarantine|firewall|security (?:settings|warnings?|software)|privacy (?:&|and) security"
    r"|warning of the (?:browser|system)|all rights|warning that (?:macos|windows|the browser)|unknown (?:publisher"
    r"|developer|sources?)|macros)\b|\b(?:anti-?virus|protection programs?|security software"
    r"|defender)\b[^.]{0,80}\b(?:mistake|false|flag|block|pause|disable)|\b(?:says?|reports?|shows?) (?:that )?(?:the "
    r"|it )?(?:\w+ )?(?:is )?damaged\b|\bdeveloper mode\b"
)
# It comes from a person or a mail, not from a place that can be looked at.
_CONTACT = LateRegex(
    r"\b(?:ask|write(?: to)?|request|message|dm|contact|text|ping|mail|e-?mail)\b[^.]{0,60}"
    r"(?:(?<![\w@])@[a-z_]\w{3,31}\b(?![./\w-])|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,60}|\b(?:on|via|in)"
    r" (?:telegram|whatsapp|discord|signal)\b)"
    r"|\b(?:address|link|attachment|file) (?:in|from) the (?:welcome |invitation |activation )?(?:mail|message)\b"
)
_THING = LateRegex(
    r"\b(?:installer|setup|driver|agent|helper|connector|runtime|codec|core|cli|bridge|client|update|extension|desktop "
    r"app|companion|launcher|component|attachment|archive|file|link)\b"
)
_START = LateRegex(
    r"\b(?:run|start|launch|open|execute|install|unpack|load|double[- ]click|let)\b(?: and \w+)? (?:it|them|the \w+(?: "
    r"\w+)?|that \w+|[`'\"][\w .-]+|both)\b|\bkeep it (?:open|running)\b|\binstall it\b|\blet it run\b|\bpress (?:enter"
    r"|win)\b"
)
_FIRM = LateRegex(
    r"\b(?:will not|won't|does not|doesn't|cannot|can't|nothing|fails?|stays? inactive|otherwise|mandatory"
    r"|indispensable|without it|before (?:that|you|the first|any|using|first)|required|must|do not carry on|unlocked?"
    r"|to activate|to go on|to continue|needs? to|depends on|prove)\b"
)
_DIALOG = LateRegex(r"\bwin(?:dows)?(?: key)? ?\+ ?[rx]\b|\brun dialog\b|\bspotlight\b[^.]{0,40}\bterminal\b")

# What a text needs to be a lure: one of these.
LURE_COMBINATIONS = (
    AllPatterns(_START, _GUARD),
    AllPatterns(_START, _DIALOG),
    AllPatterns(_START, _THING, _FIRM),
    AllPatterns(_CONTACT, _THING, _START),
)


def find_lures(text: str) -> Iterator[SentenceOrder]:
    """Find what the sentences around an address (which is left out of them) ask the reader to do with it."""
    if not _START.search(text):
        return
    if guard := _GUARD.search(text):
        yield SentenceOrder(Kind.PRIVILEGE, "a protection", 0, guard[0])
    if dialog := _DIALOG.search(text):
        yield SentenceOrder(Kind.EXEC, "a command pasted from a page", 0, dialog[0])
    if (thing := _THING.search(text)) and _FIRM.search(text):
        yield SentenceOrder(Kind.EXEC, "a program that is not named", 0, thing[0])


def find_contact(own: str, near: str) -> SentenceOrder | None:
    """Find a person who is to be asked for a program that is then to be run."""
    contact = _CONTACT.search(own)
    if contact and _THING.search(near) and _START.search(near):
        return SentenceOrder(Kind.EXEC, "a program from a message", 0, contact[0])
    return None


# How the words begin without which no prerequisite can be.
_WORDS = LateRegex(
    r"(?<![a-z])(?:ant|cop|dam|def|dow|dri|exe|ext|gat|gra|hel|ins|lau|nav|obt|pas|pow|pre|qua|req|run|ter|unp|unz|uti|vis)",
    re.IGNORECASE,
)
_NEED = LateRegex(
    r"\bprerequisites?\b|\brequire(?:s|d|ment|ments)?\b|\bmust (?:be|first|have|install|download|run)\b|\bneeds? (?:to "
    r"(?:be )?(?:install|download|run)|the )|\b(?:before|prior to) (?:using|you|running|proceeding|continuing|setting"
    r"|starting|downloading|the skill|any|first use|it)\b|\bwill not (?:work|function|run|be)\b|\bwon't work\b"
    r"|\bwithout (?:it|this|the|[\w-]+ (?:installed|running))\b|\bfirst,? (?:install|download|get|run)\b|\bis "
    r"(?:mandatory|essential|needed|necessary)\b|\bdepends on\b|\bset ?up\b|\binstall(?:ation)?\b"
)
_URL = LateRegex(
    r"https?://[^\s)\]>\"'`<|]+|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|xyz|top|site|online|cc|ru|cn|me|sh|co"
    r"|info|link|click|pw|to|gg|ai|space|store|tech|live|run)/[^\s)\]>\"'`<|]+"
)
_GET = LateRegex(
    r"\b(?:download(?:ed|ing)?|get|grab|fetch|obtain|visit|go to|open|navigate to|head (?:over )?to|install(?:er)?"
    r"|from|here|available at)\b|\]\(http"
)
_PASSWORD = LateRegex(
    r"\b(?:pass(?:word|phrase|code)?|pwd|pw|key)\b ?(?:is|=|:|-|\u2013)* ?[`'\"(]?[^\s`'\")]{2,40}"
    r"|\bextract(?:ed)? (?:it )?(?:using|with)(?: (?:the|pass\w*))*:? ?[`'\"]?\S{2,40}"
)
_ARCHIVE = LateRegex(r"\b(?:extract|unzip|unpack|archive|zip|rar|7z|decompress)\w*\b|\.(?:zip|rar|7z|tar|tgz|gz)\b")
_RUN = LateRegex(
    r"\b(?:run|execute|launch|start|open|double[- ]click|install) (?:on |it\b|the |this |that |your )?(?:\w+[ "
    r"-])?(?:executable|installer|binary|program|application|app|setup|exe|utility|agent|tool|driver|file|package"
    r"|script|it)\b|\b(?:run|execute|launch|start|open|double[- ]click) (?:the )?[`'\"]?[\w.-]+\.(?:exe|msi|dmg|pkg|app"
    r"|bat|cmd|scr|ps1|command|jar|vbs|sh|run|appimage)\b"
)
_PROGRAM = LateRegex(
    r"\.(?:exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|appimage|run|deb|rpm)\b|\bexecutable\b|\binstaller\b"
    r"|\bbinary\b"
)
_ARCHIVE_URL = LateRegex(
    r"\.(?:zip|rar|7z|tar|tgz|gz|xz|bz2|exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|deb|rpm|appimage|run"
    r"|command)(?:[?#]|$)|/releases/(?:latest/)?download/"
)
_PASTE = LateRegex(
    r"\b(?:copy|paste|copying|pasting)\b[^.]{0,120}\b(?:terminal|shell|command prompt|powershell|console|command line"
    r"|cmd|run dialog|win ?\+ ?r)\b|\b(?:execute|run|enter)\b[^.]{0,60}\b(?:command|script|line)s?\b[^.]{0,60}\b(?:in"
    r"|into|from|using|inside|via) (?:the |your |a )?(?:\w+ )?(?:terminal|shell|command prompt|powershell|console)\b"
)
_PAGE = LateRegex(
    r"\b(?:visit|go to|open|navigate to|head (?:over )?to|from|at|see|on|browse to)\b[^.]{0,40}(?:\]\(|https?://"
    r"|\bthis (?:page|link|site|url|snippet|gist|paste)\b|\bpage\b|\blink\b)"
)

# What a section needs to ask for one: one of these.
PREREQUISITE_COMBINATIONS = (
    AllPatterns(_ARCHIVE, _PASSWORD), AllPatterns(_RUN), AllPatterns(_PASTE), *LURE_COMBINATIONS,
)  # fmt: skip


def could_be_prerequisite(block: str) -> bool:
    """Return whether a block may be a part of one."""
    return _WORDS.search(block) is not None


def find_prerequisites(
    section: list[ProseBlock], headings: tuple[str, ...]
) -> Iterator[tuple[SentenceOrder, ProseBlock, Sentence]]:
    """Each place of a section that something must be had from, with what is asked for around it."""
    flat = [(block, sentence) for block in section for sentence in block.sentences]
    title = " ".join(headings[-2:]).lower()
    needed = _NEED.search(title) is not None or any(_NEED.search(text.text) for _, text in flat)
    for index, (block, sentence) in enumerate(flat):
        own = sentence.text
        near = " ".join(following.text for _, following in flat[index : index + 3])
        if contact := find_contact(own, near):
            yield SentenceOrder(Kind.PREREQUISITE, contact.via, 0, own[:160], (contact,)), block, sentence
        if not (_GET.search(own) and (url := _URL.search(own))):
            continue
        address = url[0].rstrip(".,;:)")
        around = " ".join(following.text for _, following in flat[max(0, index - 1) : index + 3])
        found = [*find_lures(_URL.sub(" ", around)), *(_find_needed(own, near, address) if needed else ())]
        if found:
            sources = (SentenceOrder(Kind.FETCH, address, url.start(), own[:120]), *found)
            yield SentenceOrder(Kind.PREREQUISITE, address, 0, own[:160], sources), block, sentence


def _find_needed(own: str, near: str, address: str) -> Iterator[SentenceOrder]:
    """Find the requests around an address, in a section on prerequisites."""
    bare = _URL.sub(" ", near)
    if _ARCHIVE.search(near) and (password := _PASSWORD.search(bare)):
        yield SentenceOrder(Kind.LOCKED, "password given", 0, password[0])
    if (run := _RUN.search(bare)) and (_PROGRAM.search(near) or _ARCHIVE_URL.search(address)):
        yield SentenceOrder(Kind.EXEC, "the downloaded program", 0, run[0])
    if (paste := _PASTE.search(near)) and _PAGE.search(own):
        yield SentenceOrder(Kind.EXEC, "a command pasted from a page", 0, paste[0])
