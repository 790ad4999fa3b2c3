"""Rules on files: binaries, archives, links, pickles and active documents."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Kind
from clawft.scanner.rule import RuleHit, ScanRule, Subject
from clawft.scanner.vocabulary.secrets import find_secret_path


@ScanRule(
    id="active-document",
    title="A document that acts when it is opened",
    severity="high",
    threat="execution AST01 AML.T0011",
    what="An office file with macros that start by themselves, a remote template or a field that runs a program; a "
    "PDF with scripts or actions.",
    why="Opening a document should show it, not run it.",
    example="report.docx fetches its template from another host",
    counter_example="report.docx with text and pictures",
    fix="Save the document without macros, scripts and remote parts.",
)
def check_active_document(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.HIDDEN, Kind.HOOK, Kind.FETCH, Kind.EXEC):
        acts = fact.target == "pdf-action" or fact.target.startswith("office:") or fact.via.startswith("a field that")
        if acts or (fact.kind is Kind.FETCH and fact.via.startswith("a remote ")):
            yield RuleHit(fact, f"{fact.document.path} acts when it is opened: {fact.via}", 0.7)


@ScanRule(
    id="binary-program",
    title="A program that cannot be read",
    severity="high",
    threat="supply-chain AST02 AML.T0010",
    what="The skill holds machine code, bytecode without its source, or macros.",
    why="Nobody can tell what it does before it runs, neither a reader nor this scanner.",
    example="bin/helper (ELF)",
    counter_example="scripts/helper.sh",
    fix="Ship the source, or have the user install the program from where it is published.",
)
def check_binary_program(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.BINARY):
        yield RuleHit(fact, f"{fact.document.path} is {fact.via}", 0.6)


@ScanRule(
    id="decompression-bomb",
    title="An archive that exhausts whoever unpacks it",
    severity="high",
    threat="sabotage AST08 AML.T0029",
    what="A small archive would unpack to hundreds of times its size.",
    why="It fills the disk or the memory of the user, or makes scanners give up before they reach the rest.",
    example="assets/pad.zip, 4 kB that unpack to 4 MB of zeros",
    counter_example="assets/examples.zip, 4 kB that unpack to 12 kB",
    fix="Remove the archive.",
)
def check_decompression_bomb(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target == "decompression-bomb":
            yield RuleHit(fact, f"{fact.document.path} is made to exhaust whoever unpacks it: {fact.via}", 0.8)


@ScanRule(
    id="link-out",
    title="A link leads out of the skill",
    severity="high",
    threat="concealment AST01 AML.T0010",
    what="A symbolic link, or a file in an archive that would be unpacked elsewhere, leaves the skill's folder.",
    why="Whoever reads or writes what looks like a file of the skill reads or writes a file of the user.",
    example="assets/notes -> /opt/shared/notes",
    counter_example="assets/latest -> v2/notes",
    fix="Put a copy of the file into the skill.",
    aliases=("path-traversal",),
)
def check_link_out(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.LINK):
        yield RuleHit(fact, f"A link or the path of a packed file leads out of the skill: {fact.via}", 0.8)


_PRIVATE = re.compile(
    r"^/(?:etc/(?:passwd|shadow|gshadow|sudoers|ssh|cron|profile|ld\.so)|root(?:/|$)|proc/(?:self|\d+|1)/|var/run/docker\.sock"
    r"|var/spool/cron|dev/(?:mem|sd|disk)|private/etc/)|(?:^|/)\.(?:bashrc|zshrc|profile|bash_profile|bash_history|zsh_history)$"
    r"|^(?:/home/[^/]+|/Users/[^/]+|~)(?:/?$|/\.|/(?:Documents|Desktop|Library)(?:/|$))"
)


@ScanRule(
    id="link-to-secret",
    title="A link to private files",
    severity="critical",
    threat="exfiltration AST01 AML.T0055",
    what="A symbolic link in the skill leads to keys, logins, the user's home or files of the system.",
    why="The agent is led to read, show or change that file while it seems to work on a file of the skill.",
    example="references/profile -> ../../../../../../etc/passwd",
    counter_example="scripts/python -> /usr/bin/python3",
    fix="Remove the link.",
)
def check_link_to_secret(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.LINK):
        what = find_secret_path(fact.target) or ("private files" if _PRIVATE.search(fact.target) else "")
        if what:
            yield RuleHit(fact, f"What looks like a file of the skill is a link to {what}: {fact.via}", 0.9)


@ScanRule(
    id="locked-archive",
    title="An archive that cannot be looked into",
    severity="high",
    threat="concealment AST08 AML.T0010",
    what="The skill holds, or tells to unpack, an archive with a password or of a kind that scanners cannot open.",
    why="A password keeps scanners out, not thieves: it is how programs get past the check of what is downloaded.",
    example="assets/tool.zip, encrypted",
    counter_example="assets/examples.zip, open",
    fix="Ship the files as they are.",
)
def check_locked_archive(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.LOCKED):
        if fact.document.language == "binary":
            yield RuleHit(fact, f"{fact.document.path} cannot be looked into: {fact.via}", 0.7)
        else:
            yield RuleHit(fact, f"An archive that cannot be looked into is to be unpacked: {fact.via}", 0.7)


_PASSWORD = re.compile(
    r"\bpass(?:word|code|phrase|wd)?\b|\bpwd\b|\bunzip\b[^\n]{0,80} -P|\b7z[arx]?\b[^\n]{0,80} -p|\bkennwort\b"
    r"|\bcontrase|\bmot de passe\b|\bsenha\b|\u043f\u0430\u0440\u043e\u043b|\u5bc6\u7801|\u89e3\u538b",
    re.IGNORECASE,
)
_NEAR = 400


@ScanRule(
    id="locked-archive-opened",
    title="A locked archive is to be opened and used",
    severity="critical",
    threat="supply-chain AST01 AML.T0011",
    what="The skill brings an archive that is locked with a password, and the password with it.",
    why="A password that everybody is told protects nothing; it only keeps the content from being checked.",
    example="Unpack assets/helper.zip with the password `open` and start the program.",
    counter_example="Unpack assets/examples.zip.",
    fix="Ship the files as they are.",
)
def check_locked_archive_opened(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.LOCKED):
        if fact.document.language != "binary":  # prose about an archive that is elsewhere
            continue
        name = fact.document.path.partition("!")[0].rpartition("/")[2]
        for document in subject.documents:
            at = document.text.find(name) if name and not document.mention else -1
            if at >= 0 and _PASSWORD.search(document.text, max(0, at - _NEAR), at + len(name) + _NEAR):
                yield RuleHit(
                    fact, f"{document.path} tells to open {name}, which nobody could check, with a password", 0.9
                )
                break


_RUNS = re.compile(
    r"(?:os|posix|nt|subprocess|pty|commands|runpy|webbrowser|socket|ctypes|importlib|shutil|code|timeit|bdb|pdb|pip|urllib|requests)\."
    r"|(?:builtins|__builtin__)\.(?:eval|exec|compile|__import__|open)$"
)


@ScanRule(
    id="pickle-calls",
    title="A pickle that runs commands when it is loaded",
    severity="critical",
    threat="execution AST01 AML.T0011",
    what="A serialised Python object names functions that run programs or code, to be called as it is loaded.",
    why="Data does not need to call `os.system`. Whoever loads the file runs what its author wants.",
    example="assets/model.pkl calls posix.system",
    counter_example="assets/model.pkl holds a dictionary of numbers",
    fix="Store data as JSON, or models as safetensors.",
)
def check_pickle_calls(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.LOAD):
        if fact.via.startswith("a pickle") and _RUNS.match(fact.target):
            yield RuleHit(fact, f"Loading {fact.document.path} calls {fact.target}", 0.95)


@ScanRule(
    id="special-file",
    title="A file that is no file",
    severity="medium",
    threat="sabotage AST08 AML.T0029",
    what="The skill, or an archive in it, holds a named pipe, a socket or a device.",
    why="Whoever reads it waits for ever, or reads a disk. No skill needs one.",
    example="assets/data is a named pipe",
    counter_example="assets/data is a file",
    fix="Remove it.",
)
def check_special_file(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.HIDDEN):
        if fact.target == "special-file":
            yield RuleHit(fact, fact.via, 0.7)


_WORD = re.compile(r"[^\s\"';|&()<>]+")


@ScanRule(
    id="program-run-unseen",
    title="An unreadable program runs with all rights or in secret",
    severity="critical",
    threat="execution AST01 AML.T0011",
    what="A program in the skill that cannot be read is started as administrator, or the user shall not know of it.",
    why="What cannot be read may do anything, and here it is given everything or kept from the user.",
    example="chmod +x assets/helper && sudo assets/helper",
    counter_example="./bin/format --check",
    fix="Ship the source, ask the user, and do without more rights.",
)
def check_program_run_unseen(subject: Subject) -> Iterator[RuleHit]:
    programs = {_name(fact.document.path) for fact in subject.of(Kind.BINARY)}
    if not programs:
        return
    hushed = any(not fact.document.mention for fact in subject.of(Kind.CONCEAL))
    raised = {(fact.document.path, fact.line) for fact in subject.of(Kind.PRIVILEGE)}
    for run in subject.of(Kind.EXEC):
        started = programs.intersection(map(_name, _WORD.findall(run.target)))
        if started and not run.document.mention:
            how = (
                "with all rights"
                if (run.document.path, run.line) in raised
                else "behind the user's back"
                if hushed
                else ""
            )
            if how:
                yield RuleHit(run, f"{min(started)}, a program that cannot be read, is run {how}", 0.85)


def _name(path: str) -> str:
    return path.rpartition("/")[2].rpartition("!")[2].rpartition("\\")[2]


_HIDDEN = re.compile(r"^(/tmp|/var/tmp|/dev/shm|\$TMPDIR|%temp%|\$env:temp)[/\\](.*[/\\])?\.[\w-]", re.IGNORECASE)


@ScanRule(
    id="hidden-file-run",
    title="A hidden temporary file is run",
    severity="critical",
    threat="concealment AST01 AML.T0050",
    what="Code is read from a hidden file in a temporary folder, and run.",
    why="Nothing of the skill put it there for a reader to see: such files are where downloaded payloads wait.",
    example='exec(open("/tmp/.cache").read())',
    counter_example='exec(open("scripts/build.py").read())',
    fix="Keep code inside the skill's folder under a name that can be seen.",
)
def check_hidden_file_run(subject: Subject) -> Iterator[RuleHit]:
    for run in subject.of(Kind.EXEC, Kind.EVAL, Kind.LOAD):
        if run.kind is Kind.EXEC:
            paths = [] if " -c" in run.target or " -e" in run.target else run.target.split()[:3]
        else:
            paths = [fact.target for fact in subject.trace(run) if fact.kind is Kind.READ]
        hidden = [path for path in paths if _HIDDEN.match(path)]
        if hidden:
            yield RuleHit(run, f"{hidden[0]}, a hidden file in a folder that anyone may write to, is run", 0.85)
