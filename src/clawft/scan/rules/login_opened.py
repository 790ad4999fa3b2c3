"""A way in is left open: a key, a password-less sudo, a setuid program, a new account."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_KEY = re.compile(r"\b(ssh-(rsa|ed25519|dss)|ecdsa-sha2-nistp\d+) ")
_SUDO = re.compile(r"\bNOPASSWD\s*:\s*ALL\b")
_SETUID = re.compile(r"^(\+s|u\+s|g\+s|[ug]{1,2}\+s|0?[4-7][0-7]{3})\s")


_ACCOUNT = re.compile(
    r"\b(useradd|adduser|usermod|net (user|localgroup)|dscl)\b.*"
    r"(-u 0\b|-a?G \S*\b(sudo|wheel|admin)\b|administrators.*/add)"
)


def check_login_opened(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.WRITE, Kind.PERSIST, Kind.PERMIT, Kind.PRIVILEGE, Kind.EXEC):
        why = _why(fact)
        if why:
            yield Hit(fact, why, 0.85)


def _why(fact: Fact) -> str:
    target, text = fact.target, f"{fact.target} {fact.document.text_of(fact.line)}"
    if fact.kind in (Kind.WRITE, Kind.PERSIST) and "authorized_keys" in target and _KEY.search(text):
        return "Someone's key is added to those that may log in"
    if "sudoers" in text and _SUDO.search(text) and fact.kind is not Kind.EXEC:
        return "Commands may run as root without a password from now on"
    if (fact.kind is Kind.PERMIT and _SETUID.match(target)) or target.startswith("setuid "):
        return f"{target.split()[-1]} runs as its owner for everyone from now on"
    if fact.kind is Kind.PRIVILEGE and _ACCOUNT.search(text):
        return "An account with full rights is added"
    return ""


RULE = Rule(
    id="login-opened",
    title="A way in is left open",
    severity="critical",
    category="privilege",
    what="A given public key is added to those that may log in, sudo is freed of its password, a program is made to "
    "run as "
    "its owner, or an account with full rights is added.",
    why="It lets someone in, or up, long after the skill has run.",
    example="echo 'ssh-ed25519 AAAA… me' >> ~/.ssh/authorized_keys",
    counter_example="ssh-copy-id build.example.net",
    fix="Leave logins and rights to the user.",
    check=check_login_opened,
    owasp="AST03",
    atlas="AML.T0048",
)
