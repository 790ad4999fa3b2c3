"""How a reader is led to run a stranger's program: lower a protection, ask a person, nothing works without it."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.late import Late, Together
from clawft.scan.instructions.order import Order

__all__ = ["COMBINATIONS", "find_contact", "find_lures"]

# The reader is to lower a protection so that it runs.
_GUARD = Late(
    r"\b(?:disable|pause|turn|switch|get past|click past|deactivate|exclusion|whitelist|allow|ignore|bypass|remove"
    r"|accept|click through"
    r"|dismiss)\b[^.]{0,80}\b(?:anti-?virus|virus scanner|defender|gatekeeper|smartscreen|protection"
    r" programs?|quarantine|firewall"
    r"|security (?:settings|warnings?|software)|privacy (?:&|and) security|warning of the (?:browser|system)|all rights"
    r"|warning that (?:macos|windows|the browser)|unknown (?:publisher|developer|sources?)|macros)\b"
    r"|\b(?:anti-?virus|protection programs?|security software|defender)\b[^.]{0,80}\b(?:mistake|false"
    r"|flag|block|pause|disable)"
    r"|\b(?:says?|reports?|shows?) (?:that )?(?:the |it )?(?:\w+ )?(?:is )?damaged\b|\bdeveloper mode\b"
)
# It comes from a person or a mail, not from a place that can be looked at.
_CONTACT = Late(
    r"\b(?:ask|write(?: to)?|request|message|dm|contact|text|ping|mail|e-?mail)\b[^.]{0,60}"
    r"(?:(?<![\w@])@[a-z_]\w{3,31}\b(?![./\w-])|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,60}|\b(?:on|via|in)"
    r" (?:telegram|whatsapp|discord|signal)\b)"
    r"|\b(?:address|link|attachment|file) (?:in|from) the (?:welcome |invitation |activation )?(?:mail|message)\b"
)
_THING = Late(
    r"\b(?:installer|setup|driver|agent|helper|connector|runtime|codec|core|cli|bridge|client|update"
    r"|extension|desktop app"
    r"|companion|launcher|component|attachment|archive|file|link)\b"
)
_START = Late(
    r"\b(?:run|start|launch|open|execute|install|unpack|load|double[- ]click|let)\b(?: and \w+)?"
    r" (?:it|them|the \w+(?: \w+)?|that \w+|[`'\"][\w .-]+|both)\b|\bkeep it (?:open|running)\b|\binstall"
    r" it\b|\blet it run\b"
    r"|\bpress (?:enter|win)\b"
)
_FIRM = Late(
    r"\b(?:will not|won't|does not|doesn't|cannot|can't|nothing|fails?|stays? inactive|otherwise|mandatory"
    r"|indispensable"
    r"|without it|before (?:that|you|the first|any|using|first)|required|must|do not carry on|unlocked?|to activate"
    r"|to go on|to continue|needs? to|depends on|prove)\b"
)
_DIALOG = Late(r"\bwin(?:dows)?(?: key)? ?\+ ?[rx]\b|\brun dialog\b|\bspotlight\b[^.]{0,40}\bterminal\b")

# What a text needs to be a lure: one of these.
COMBINATIONS = (
    Together(_START, _GUARD),
    Together(_START, _DIALOG),
    Together(_START, _THING, _FIRM),
    Together(_CONTACT, _THING, _START),
)


def find_lures(text: str) -> Iterator[Order]:
    """What the sentences around an address (which is left out of them) ask the reader to do with what is there."""
    if not _START.search(text):
        return
    if guard := _GUARD.search(text):
        yield Order(Kind.PRIVILEGE, "a protection", 0, guard[0])
    if dialog := _DIALOG.search(text):
        yield Order(Kind.EXEC, "a command pasted from a page", 0, dialog[0])
    if (thing := _THING.search(text)) and _FIRM.search(text):
        yield Order(Kind.EXEC, "a program that is not named", 0, thing[0])


def find_contact(own: str, near: str) -> Order | None:
    """Somebody is to be asked for a program that is then to be run."""
    contact = _CONTACT.search(own)
    if contact and _THING.search(near) and _START.search(near):
        return Order(Kind.EXEC, "a program from a message", 0, contact[0])
    return None
