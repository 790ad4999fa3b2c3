"""Rules on privileges: access to the host, logins, file modes and trust settings."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Fact, Kind
from clawft.scanner.ownership import is_trusted
from clawft.scanner.rule import RuleHit, ScanRule, Subject
from clawft.scanner.vocabulary.hosts import KNOWN, HostKind, judge_address, registrable


@ScanRule(
    id="container-owns-host",
    title="A container is given the host",
    severity="high",
    threat="privilege AST06 AML.T0048",
    what="A container runs privileged, or mounts the root, the Docker socket or folders of secrets of the host.",
    why="Whatever runs in it can do anything on the host, so the container protects nothing.",
    example="volumes: [/var/run/docker.sock:/var/run/docker.sock]",
    counter_example="volumes: [./data:/data]",
    fix="Mount the one folder that is needed, and drop the privilege.",
)
def check_container_owns_host(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.PRIVILEGE):
        if fact.target.startswith(("privileged container", "container ", "capability ")):
            yield RuleHit(fact, f"A container gets more than its own world: {fact.target}", 0.7)


_KEY = re.compile(r"\b(ssh-(rsa|ed25519|dss)|ecdsa-sha2-nistp\d+) ")
_WAY_BACK = "ssh -R "
_LOGINS = frozenset(("22", "23", "3389", "5900", "5985"))
_SUDO = re.compile(r"\bNOPASSWD\s*:\s*ALL\b")
_SETUID = re.compile(r"^(\+s|u\+s|g\+s|[ug]{1,2}\+s|0?[4-7][0-7]{3})\s")


_ACCOUNT = re.compile(
    r"\b(useradd|adduser|usermod|net (user|localgroup)|dscl)\b.*"
    r"(-u 0\b|-a?G \S*\b(sudo|wheel|admin)\b|administrators.*/add)"
)


@ScanRule(
    id="login-opened",
    title="A way in is left open",
    severity="critical",
    threat="privilege AST03 AML.T0048",
    what="A given public key is added to those that may log in, sudo is freed of its password, a program is made to "
    "run as its owner, an account with full rights is added, or a port for logins is led to a machine without a name.",
    why="It lets someone in, or up, long after the skill has run.",
    example="echo 'ssh-ed25519 AAAA… me' >> ~/.ssh/authorized_keys",
    counter_example="ssh-copy-id build.example.net",
    fix="Leave logins and rights to the user.",
)
def check_login_opened(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.WRITE, Kind.PERSIST, Kind.PERMIT, Kind.PRIVILEGE, Kind.EXEC, Kind.LISTEN):
        why = _why(fact)
        if why:
            yield RuleHit(fact, why, 0.85)


def _is_led_out(fact: Fact) -> bool:
    """Return whether a port for logins is led to a machine that has no name."""
    if fact.target not in _LOGINS or not fact.via.startswith(_WAY_BACK):
        return False
    return judge_address(fact.via.removeprefix(_WAY_BACK)) in (HostKind.BARE, HostKind.DROP)


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


_OPEN = re.compile(r"^(0?777|a\+rwx|\+rwx|o\+w|ugo\+rwx|a\+w)\s+(?:-R\s+)?(?P<path>/\S*|~\S*)")
_SYSTEM = re.compile(r"^/(etc|usr|bin|sbin|lib\w*|boot|root)?(/|$)(?!local/share|share)")
_ROOT = re.compile(r"^(?:-R\s+)?root\b\S*\s+(?P<path>/\S*)")


@ScanRule(
    id="root-trap",
    title="What root uses is opened to everyone",
    severity="critical",
    threat="privilege AST03 AML.T0048",
    what="A path is given to root and opened to everyone at once, or a folder that the system runs from is.",
    why="Whoever changes it next acts with root's rights: it is a way up that stays.",
    example="chmod 777 /srv/common; sudo chown -R root:wheel /srv/common",
    counter_example="sudo chown -R $USER /srv/common",
    fix="Give rights to the one user who needs them.",
)
def check_root_trap(subject: Subject) -> Iterator[RuleHit]:
    owned = [match["path"] for fact in subject.of(Kind.PERMIT) if (match := _ROOT.match(fact.target))]
    for fact in subject.of(Kind.PERMIT):
        opened = _OPEN.match(fact.target)
        if opened and _is_trap(opened["path"], owned, fact):
            yield RuleHit(fact, f"Everyone may change {opened['path']}, which root or the system uses", 0.75)


def _is_trap(path: str, owned: list[str], fact: Fact) -> bool:
    if "fence" in fact.document.origin and not owned:
        return False
    return path in owned or _SYSTEM.match(path) is not None


_WORLD_WRITABLE_OPEN = re.compile(r"^(0?777|a\+rwx|\+rwx|o\+w|ugo\+rwx|a\+w)\s+(-R\s+)?(/|~)")


@ScanRule(
    id="world-writable",
    title="A path outside the skill is opened to everyone",
    severity="high",
    threat="privilege AST03 AML.T0048",
    what="The rights of a file or folder outside the skill are set so that everyone may change it.",
    why="Any other program or user can then change what is run or read from there.",
    example="chmod -R 777 /srv/notes",
    counter_example="chmod +x scripts/run.sh",
    fix="Give rights to the one user who needs them.",
    aliases=("unsafe-permissions",),
)
def check_world_writable(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.PERMIT):
        if _WORLD_WRITABLE_OPEN.match(fact.target):
            yield RuleHit(fact, f"Everyone may write to {fact.target.split()[-1]} from now on", 0.8)


_STORE = re.compile(
    r"ca-certificates|/pki/|/ssl/certs|trust(ed)?[-_. ]?(root|anchors?|store|cert)|keychains?/",
    re.IGNORECASE,
)
_HOSTS = re.compile(r"(^|[/\\])etc[/\\]hosts$", re.IGNORECASE)
_NAME = re.compile(r"\b(?:[a-z0-9-]+\.)+[a-z]{2,}\b")


@ScanRule(
    id="trust-redirected",
    title="Whom the machine trusts is changed",
    severity="critical",
    threat="privilege AST03 AML.T0048",
    what="A downloaded certificate is put among those that are trusted, or the name of a well-known host is led "
    "elsewhere.",
    why="From then on a stranger can read and change what the user exchanges with services that look genuine.",
    example="echo '203.0.113.9 github.com' | sudo tee -a /etc/hosts",
    counter_example="echo '127.0.0.1 notes.test' | sudo tee -a /etc/hosts",
    fix="Leave both to the user.",
)
def check_trust_redirected(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.WRITE):
        if _STORE.search(fact.target) and _is_foreign_store(subject, fact):
            yield RuleHit(fact, f"A stranger's certificate is put among those that are trusted ({fact.target})", 0.85)
        elif _HOSTS.search(fact.target):
            names = [name for name in _NAME.findall(fact.document.text_of(fact.line)) if registrable(name) in KNOWN]
            if names:
                yield RuleHit(fact, f"{names[0]} is made to lead elsewhere", 0.85)


def _is_foreign_store(subject: Subject, fact: Fact) -> bool:
    sources = subject.trace(fact)
    return any(source.kind is Kind.FETCH and not is_trusted(subject, source.target) for source in sources)
