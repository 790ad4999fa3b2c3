"""A link in the skill leads to a file of secrets or of the system."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.secrets import find_secret_path

__all__ = ["RULE"]

_PRIVATE = re.compile(
    r"^/(?:etc/(?:passwd|shadow|gshadow|sudoers|ssh|cron|profile|ld\.so)|root(?:/|$)|proc/(?:self|\d+|1)/|var/run/docker\.sock"
    r"|var/spool/cron|dev/(?:mem|sd|disk)|private/etc/)|(?:^|/)\.(?:bashrc|zshrc|profile|bash_profile|bash_history|zsh_history)$"
    r"|^(?:/home/[^/]+|/Users/[^/]+|~)(?:/?$|/\.|/(?:Documents|Desktop|Library)(?:/|$))"
)


def check_link_to_secret(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.LINK):
        what = find_secret_path(fact.target) or ("private files" if _PRIVATE.search(fact.target) else "")
        if what:
            yield Hit(fact, f"What looks like a file of the skill is a link to {what}: {fact.via}", 0.9)


RULE = Rule(
    id="link-to-secret",
    title="A link to private files",
    severity="critical",
    category="exfiltration",
    what="A symbolic link in the skill leads to keys, logins, the user's home or files of the system.",
    why="The agent is led to read, show or change that file while it seems to work on a file of the skill.",
    example="references/profile -> ../../../../../../etc/passwd",
    counter_example="scripts/python -> /usr/bin/python3",
    fix="Remove the link.",
    check=check_link_to_secret,
    owasp="AST01",
    atlas="AML.T0055",
)
