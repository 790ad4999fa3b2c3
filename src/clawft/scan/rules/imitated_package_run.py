"""A package with a borrowed name is installed, and made to run or passed off as the real one."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.packages import Package, find_imitated, parse_package

__all__ = ["RULE"]

_MODULES = {
    "pyyaml": "yaml",
    "beautifulsoup4": "bs4",
    "pillow": "PIL",
    "opencv-python": "cv2",
    "scikit-learn": "sklearn",
    "python-dateutil": "dateutil",
    "python-dotenv": "dotenv",
    "pyjwt": "jwt",
}


def check_imitated_package_run(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.INSTALL):
        package = parse_package(fact.target)
        imitated = find_imitated(package.manager, package.name)
        if imitated and (why := _why(subject, fact, package, imitated)):
            yield Hit(fact, f"{package.name} is installed instead of {imitated}, and {why}", 0.85)


def _why(subject: Subject, fact: Fact, package: Package, imitated: str) -> str:
    if package.address and is_foreign(subject, package.address):
        return f"it comes from {package.address}"
    if "hook" in fact.document.origin:
        return "nobody is asked"
    others = {name for one in subject.of(Kind.INSTALL) if not one.document.mention and (name := _imitation(one))}
    if len(others) > 1:
        return f"so is {min(others - {package.name})}"
    if any(parse_package(one.target).name == imitated for one in subject.of(Kind.INSTALL)):
        return ""  # both are there: a slip of the pen, or a real package with a close name
    module = package.name.replace("-", "_")
    used = _use_of(module)
    meant = _use_of(_MODULES.get(imitated, imitated.replace("-", "_")))
    said = re.compile(rf"(?<![\w/.@-]){re.escape(imitated)}(?![\w-])", re.IGNORECASE)
    for document in subject.documents:
        if document.language in ("python", "javascript", "shell") and used.search(document.text):
            return f"{document.path} runs it"
        if document.language in ("python", "javascript") and meant.search(document.text):
            return f"{document.path} takes it for {imitated}"
        if document.path == "SKILL.md" and said.search(document.text):
            return f"the skill speaks of {imitated}"
    return ""


def _imitation(fact: Fact) -> str:
    package = parse_package(fact.target)
    return package.name if find_imitated(package.manager, package.name) else ""


def _use_of(module: str) -> re.Pattern[str]:
    name = re.escape(module)
    return re.compile(
        rf"^[ \t]*(?:import|from)[ \t]+{name}\b|require\(\s*['\"]{name}['\"]|from\s+['\"]{name}['\"]|-m[ \t]+{name}\b",
        re.MULTILINE,
    )


RULE = Rule(
    id="imitated-package-run",
    title="A package with a borrowed name is passed off as the real one",
    severity="critical",
    category="supply-chain",
    what="A package named nearly like a well-known one is installed, and the skill runs it, speaks of it as the real "
    "one, takes it from an odd place, or installs it unasked.",
    why="The real package is not there at all: only the code of whoever registered the wrong name runs.",
    example="pip install reqeusts && python -c 'import reqeusts'",
    counter_example="pip install requests && python -c 'import requests'",
    fix="Install the package that was meant.",
    check=check_imitated_package_run,
    owasp="AST02",
    atlas="AML.T0010",
)
