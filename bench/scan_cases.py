"""Skills made from case files: `scan_cases.py CASES OUT` writes them as a labelled folder for `make eval-scan`.

A case file is text, so that attacks lie in the repository inert and readable; encodings and containers are applied
when a case is written to disk:

    @@ name: what the skill says of itself
    @ SKILL.md                       (made up when it is missing; its frontmatter is always made up when missing)
    text with {{gz b64:a text that is compressed, then encoded}}
    @ assets/tool.dat = zip:run.sh   (the text that follows is the member run.sh of a zip of that name)

Files named `benign-….txt` hold innocent skills, the others attacks. The stem is the family.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scan_cases_forms import make_file, make_text

_HEAD = re.compile(r"^@@ (?P<name>[\w-]+): (?P<description>.+)$")
_FILE = re.compile(r"^@ (?P<path>\S+)(?: = (?P<forms>.+))?$")
_SLOT = re.compile(r"\{\{([a-z0-9 ]+):(.*?)\}\}", re.DOTALL)
MANIFEST = "SKILL.md"


@dataclass
class Case:
    """One skill: its files as text, each with the forms that turn it into bytes."""

    name: str
    description: str
    family: str
    malicious: bool
    files: dict[str, tuple[str, str]] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write the skill below a folder; returns its own folder."""
        top = folder / self.name
        for path, (text, forms) in {MANIFEST: (self._manifest(), ""), **self.files}.items():
            target = top / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if path == MANIFEST and not text.startswith(("---", "\ufeff")):
                text = f"---\nname: {self.name}\ndescription: {self.description}\n---\n\n{text}"
            make_file(target, _SLOT.sub(lambda slot: make_text(slot[1].split(), slot[2]), text), forms)
        return top

    def _manifest(self) -> str:
        title = self.name.replace("-", " ").capitalize()
        lines = [f"# {title}", "", self.description, "", "## Files", ""]
        return "\n".join([*lines, *(f"- `{path}`" for path in self.files), ""])


def read_cases(folder: Path) -> list[Case]:
    """Every case of every case file in a folder."""
    return [case for path in sorted(folder.glob("*.txt")) for case in _parse(path)]


def _parse(path: Path) -> Iterator[Case]:
    case: Case | None = None
    target = ""
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if head := _HEAD.match(line):
            if case:
                yield case
            case = Case(head["name"], head["description"], path.stem, not path.stem.startswith("benign"))
            target = ""
        elif (part := _FILE.match(line)) and case:
            target = part["path"]
            case.files[target] = ("", part["forms"] or "")
        elif case and target:
            text, forms = case.files[target]
            case.files[target] = (text + line.removeprefix("\\") + "\n", forms)
        elif line.strip() and not line.startswith("#"):
            raise SystemExit(f"error: {path}:{number}: text outside of a file")
    if case:
        yield case


def write_cases(cases: list[Case], folder: Path) -> None:
    """A labelled folder, as eval_scan reads it. The family is the category."""
    rows = ["name,label,category,tier,group"]
    for case in cases:
        label = "malicious" if case.malicious else "benign"
        case.write(folder / label)
        rows.append(f"{case.name},{label},{case.family},{label},{case.name}")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    write_cases(read_cases(Path(sys.argv[1])), Path(sys.argv[2]))
