"""An address for a payment that the user copied is replaced by another one."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.languages import PROGRAMS
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_PUT = re.compile(
    r"\b(?:pyperclip|clipboard|clipboardy|clip)\.(?:copy|write|writesync|set|settext|writeall|writetext)\b|set-clipboard"
    r"|setclipboarddata|clipboard_append|\bpbcopy\b|\bwl-copy\b|\bxclip\b|\bxsel\b|\bclip\.exe\b|setstring\(|settext\("
    r"|set the clipboard|clipput|a_clipboard\s*:=|\bclipboard\s*:=",
    re.IGNORECASE,
)
# An address of a coin, or a pattern that finds one.
_COIN = re.compile(
    r"\bbc1[a-z0-9\[(\\]|\b0x[a-fA-F0-9]{40}\b|0x\[(?:a-f|0-9|A-F)|\[13\]\[|\\b\[13|\b[13][a-km-zA-HJ-NP-Z1-9]{25,34}\b"
    r"|\bT[A-Za-z1-9]{33}\b|\b4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}\b|\bT\[A-Za-z1-9\]|\bltc1[a-z0-9\[]"
)


def check_payment_redirected(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.READ):
        if fact.target != "clipboard" or fact.document.language not in PROGRAMS:
            continue
        text = fact.document.text
        if _PUT.search(text) and _COIN.search(text):
            yield Hit(fact, "What the user copied is replaced when it is the address of a wallet", 0.9)


RULE = Rule(
    id="payment-redirected",
    title="A copied wallet address is replaced",
    severity="critical",
    category="sabotage",
    what="A program reads the clipboard, knows what the address of a wallet looks like, and writes the clipboard.",
    why="The user pastes another address than the one copied, and the payment goes to someone else.",
    example="if re.match('bc1[a-z0-9]+', pyperclip.paste()): pyperclip.copy(MINE)",
    counter_example="pyperclip.copy(pyperclip.paste().strip())",
    fix="Remove it.",
    check=check_payment_redirected,
    owasp="AST01",
    atlas="AML.T0048",
)
