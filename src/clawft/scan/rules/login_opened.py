"""A way in is left open: a key, a password-less sudo, a setuid program, a new account."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import Place, judge_address

__all__ = ["RULE"]

_KEY = re.compile(r"\b(ssh-(rsa|ed25519|dss)|ecdsa-sha2-nistp\d+) ")
_WAY_BACK = "ssh -R "
_LOGINS = frozenset(("22", "23", "3389", "5900", "5985"))
_SUDO = re.compile(r"\bNOPASSWD\s*:\s*ALL\b")
_SETUID = re.compile(r"^(\+s|u\+s|g\+s|[ug]{1,2}\+s|0?[4-7][0-7]{3})\s")


_ACCOUNT = re.compile(
    r"\b(useradd|adduser|usermod|net (user|localgroup)|dscl)\b.*"
    r"(-u 0\b|-a?G \S*\b(sudo|wheel|admin)\b|administrators.*/add)"
)


def check_login_opened(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.WRITE, Kind.PERSIST, Kind.PERMIT, Kind.PRIVILEGE, Kind.EXEC, Kind.LISTEN):
        why = _why(fact)
        if why:
            yield Hit(fact, why, 0.85)


def _is_led_out(fact: Fact) -> bool:
    """Whether a port for logins is led to a machine that has no name."""
    if fact.target not in _LOGINS or not fact.via.startswith(_WAY_BACK):
        return False
    return judge_address(fact.via.removeprefix(_WAY_BACK)) in (Place.BARE, Place.DROP)


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
    if fact.kind is Kind.LISTEN and _is_led_out(fact):
        return f"Whoever is at {fact.via.removeprefix(_WAY_BACK)} can log in here"
    return ""


RULE = Rule(
    id="login-opened",
    title="A way in is left open",
    severity="critical",
    category="privilege",
    what="A given public key is added to those that may log in, sudo is freed of its password, a program is made to "
    "run as its owner, an account with full rights is added, or a port for logins is led to a machine without a name.",
    why="It lets someone in, or up, long after the skill has run.",
    example="echo 'ssh-ed25519 AAAA… me' >> ~/.ssh/authorized_keys",
    counter_example="ssh-copy-id build.example.net",
    fix="Leave logins and rights to the user.",
    check=check_login_opened,
    owasp="AST03",
    atlas="AML.T0048",
)
