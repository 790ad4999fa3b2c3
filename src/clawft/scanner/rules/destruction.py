"""Rules on damage: destroyed data, exhausted resources, removed logs, disabled protections, redirected payments."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Fact, Kind
from clawft.scanner.languages import PROGRAMS
from clawft.scanner.rule import RuleHit, ScanRule, Subject

_BROAD = re.compile(
    r"^(/|/\*(\.\w+)?|~|~/|~/\*|\$HOME/?\*?|/home(/\*)?/?|/Users(/\*)?/?|[A-Z]:\\\*?|%USERPROFILE%\\?\*?"
    r"|\$env:USERPROFILE\\?\*?|/(etc|usr|var|boot|bin|lib|opt|root)/?\*?"
    r"|~/(Documents|Desktop|Pictures|Library|Downloads)/?\*?|/dev/(sd[a-z]|nvme\d|disk\d|vd[a-z]|mapper).*)$",
    re.IGNORECASE,
)
_BACKUPS = re.compile(r"shadow ?copies|vssadmin|tmutil|time machine|wbadmin", re.IGNORECASE)


_ONE_FILE = ("unlink", "unlinkSync", "remove")  # they delete one file, whose name is not known


@ScanRule(
    id="data-destroyed",
    title="The user's data or backups are wiped",
    severity="critical",
    threat="sabotage AST01 AML.T0048",
    what="A home folder, a system folder, a disk or the backups are deleted or overwritten as a whole.",
    why="It cannot be undone.",
    example="rm -rf ~/Documents/*",
    counter_example="rm -rf build dist",
    fix="Delete only what the skill made, by name.",
    aliases=("destructive-delete",),
)
def check_data_destroyed(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.DELETE):
        target = fact.target.strip("\"'")
        if target.startswith("/dev/") and "fence" in fact.document.origin:
            continue  # how to wipe a disk, as an answer to a question
        if _BROAD.match(target) and not fact.via.endswith(_ONE_FILE):
            yield RuleHit(fact, f"{fact.target} is deleted as a whole", 0.85)
        elif _BACKUPS.search(fact.target):
            yield RuleHit(fact, f"Backups are deleted ({fact.target})", 0.8)


_ITSELF = r"\{~\1 \| \1 &"
# What has to be there, quick to look for, and what it stands in when it never ends: a blank is any few, ~ is
# lines, too.
_PATTERNS = (
    (
        r"\(\)~\{~([\w.:-]{1,40}) \| \1 &",
        r"(?<![\w.:-])([\w.:-]{1,40}) \(\)~" + _ITSELF,
    ),  # a function that starts itself twice, in the background
    ("function", r"function ([\w.:-]{1,40})~(?:\(\))?~" + _ITSELF),
    (r"\$0", r"(?:^|[;\n]) (?:\./|\"|sh )?\$0\"? [|&] (?:\./|\"|sh )?\$0\"? &"),
    ("%0", r"%0 \| %0|start %0[\s\S]{0,40}?goto"),
    ("fork", r"while \(? (?:True|true|1|:|not False) \)? :?~\{?~(?:os\.|Process\.|syscall\.)?fork\b(?:\(\))? [;}\n]"),
    ("fork", r"\bfork while (?:fork|1|true)\b|\bloop~(?:\{|do)~fork\b|\bfork until 0\b"),
    ("fork", r"for \( ; ; \)~\{?~fork\(\)"),
    ("__filename", r"while \( (?:true|1) \)~\{?[^{}\n]{0,80}(?:fork|spawn)\( (?:__filename|process\.execPath)"),
    ("/dev/zero", r"\btail\b[^\n|;]{0,20}/dev/zero"),
)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"[ \t]{0,4}").replace("~", r"\s{0,30}"))


_BOMBS = tuple((_compile(mark), _compile(pattern)) for mark, pattern in _PATTERNS)


@ScanRule(
    id="resource-bomb",
    title="It multiplies until the machine stands still",
    severity="critical",
    threat="resource-abuse AST01 AML.T0029",
    what="A function or a process starts copies of itself without an end, or memory is filled without an end.",
    why="The machine hangs, and work that was not saved is lost.",
    example="bomb() { bomb | bomb & }; bomb",
    counter_example="worker() { build | log & }; worker",
    fix="Remove it.",
)
def check_resource_bomb(subject: Subject) -> Iterator[RuleHit]:
    for document in subject.documents:
        if document.language not in PROGRAMS:
            continue
        for mark, pattern in _BOMBS:
            if mark.search(document.text) and (match := pattern.search(document.text)):
                line = document.line_at(match.start() + len(match[0]) - len(match[0].lstrip("\n; \t")))
                bomb = Fact(Kind.EXEC, match[0].strip()[:80], document, line, "bomb")
                yield RuleHit(bomb, "It starts itself over and over until the machine stands still", 0.9)


_LOGS = re.compile(
    r"^(/var/log/|/var/log$|/Library/Logs|~/Library/Logs|/private/var/log)|(bash|zsh|python|fish)_history$"
    r"|^history$|wtmp|lastlog|eventlog",
    re.IGNORECASE,
)
_WITH = (Kind.PERMIT, Kind.SEND, Kind.FETCH, Kind.CONNECT, Kind.PRIVILEGE, Kind.PERSIST, Kind.DECODE)


@ScanRule(
    id="traces-removed",
    title="The traces of what happened are removed",
    severity="critical",
    threat="concealment AST01 AML.T0048",
    what="System logs or the command history are deleted beside a line that opens rights, speaks to the network or "
    "persists.",
    why="It keeps the user from finding out.",
    example="chmod 777 /opt/x; rm -rf /var/log/app/*; history -c",
    counter_example="tail -f /var/log/app/error.log",
    fix="Leave logs to logrotate.",
)
def check_traces_removed(subject: Subject) -> Iterator[RuleHit]:
    acting = {fact.document for fact in subject.of(*_WITH)}
    for fact in subject.of(Kind.DELETE):
        if _LOGS.search(fact.target) and fact.document in acting:
            yield RuleHit(fact, f"{fact.target}, which would show what happened, is removed", 0.75)


_OFF = re.compile(
    r"\bquarantine\b|spctl\s+.*(master|global)-disable|csrutil\s+disable|setenforce\s+0|ufw\s+disable|iptables\s+-F"
    r"|set-mppreference|disablerealtimemonitoring|systemctl\s+(stop|disable|mask)\s+(firewalld|ufw|auditd|clamav\S*)"
    r"|tls_reject_unauthorized|ssl_no_verify|netsh\s+advfirewall\s+set\s+\S+\s+state\s+off",
    re.IGNORECASE,
)


@ScanRule(
    id="protection-disabled",
    title="A protection is turned off",
    severity="high",
    threat="privilege AST06 AML.T0048",
    what="A firewall, a virus scanner, the quarantine of downloads, SELinux or the check of certificates is turned "
    "off.",
    why="What comes next is no longer stopped.",
    example="xattr -d com.apple.quarantine ./helper",
    counter_example="spctl --status",
    fix="Leave protections on, and sign what has to run.",
)
def check_protection_disabled(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.PRIVILEGE):
        if _OFF.search(fact.target):
            yield RuleHit(fact, f"A protection is turned off: {fact.target}", 0.7)


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


@ScanRule(
    id="payment-redirected",
    title="A copied wallet address is replaced",
    severity="critical",
    threat="sabotage AST01 AML.T0048",
    what="A program reads the clipboard, knows what the address of a wallet looks like, and writes the clipboard.",
    why="The user pastes another address than the one copied, and the payment goes to someone else.",
    example="if re.match('bc1[a-z0-9]+', pyperclip.paste()): pyperclip.copy(MINE)",
    counter_example="pyperclip.copy(pyperclip.paste().strip())",
    fix="Remove it.",
)
def check_payment_redirected(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.READ):
        if fact.target != "clipboard" or fact.document.language not in PROGRAMS:
            continue
        text = fact.document.text
        if _PUT.search(text) and _COIN.search(text):
            yield RuleHit(fact, "What the user copied is replaced when it is the address of a wallet", 0.9)
