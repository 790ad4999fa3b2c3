"""A protection of the machine is turned off."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


_OFF = re.compile(
    r"\bquarantine\b|spctl\s+.*(master|global)-disable|csrutil\s+disable|setenforce\s+0|ufw\s+disable|iptables\s+-F"
    r"|set-mppreference|disablerealtimemonitoring|systemctl\s+(stop|disable|mask)\s+(firewalld|ufw|auditd|clamav\S*)"
    r"|tls_reject_unauthorized|ssl_no_verify|netsh\s+advfirewall\s+set\s+\S+\s+state\s+off",
    re.IGNORECASE,
)


def check_protection_disabled(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.PRIVILEGE):
        if _OFF.search(fact.target):
            yield Hit(fact, f"A protection is turned off: {fact.target}", 0.7)


RULE = Rule(
    id="protection-disabled",
    title="A protection is turned off",
    severity="high",
    category="privilege",
    what="A firewall, a virus scanner, the quarantine of downloads, SELinux or the check of certificates is turned "
    "off.",
    why="What comes next is no longer stopped.",
    example="xattr -d com.apple.quarantine ./helper",
    counter_example="spctl --status",
    fix="Leave protections on, and sign what has to run.",
    check=check_protection_disabled,
    owasp="AST06",
    atlas="AML.T0048",
)
