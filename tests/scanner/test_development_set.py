"""No rule knows a sample: the scanner's texts hold no name, host or sentence of the development set.

What is remembered of a sample finds that sample and nothing else. The set is not part of the repository; where it lies
beside it (or where CLAWFT_SCAN_DATA says), it is read from its archive in memory.
"""

import ast
import csv
import io
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from clawft.scanner.vocabulary.hosts import KNOWN, OPEN

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "clawft" / "scan"
BESIDE = ROOT.parent / "shared" / "data" / "scan-dev.tar.gz"
MAX_FILE = 1 << 20
MAX_TOTAL = 256 << 20
MAX_LINE = 20_000
SHARED = 24  # as many characters in common are no accident when they are three words or more,
NAMED = 40  # and as many when they are fewer: names of public functions are long
BLOCK = SHARED // 2  # whatever has SHARED characters of a text holds one of its whole blocks
HOST = re.compile(r"\b[a-z][a-z0-9+.-]*://(?:[^\s/@]*@)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)", re.IGNORECASE)


@dataclass(frozen=True)
class Samples:
    """The development set as text, in lower case."""

    malicious: str
    benign: str
    names: frozenset[str]


@cache
def load_samples() -> Samples:
    path = Path(os.environ.get("CLAWFT_SCAN_DATA") or BESIDE)
    if not path.is_file():
        pytest.skip("Needs the development set.")
    lines: dict[str, dict[str, None]] = {"malicious": {}, "benign": {}}
    names: set[str] = set()
    total = 0
    with tarfile.open(path) as archive:
        for member in archive:
            if not member.isfile() or not (stream := archive.extractfile(member)):
                continue
            content = stream.read(MAX_FILE).decode("utf-8", "replace").lower()
            total += len(content)
            assert total < MAX_TOTAL, "the set has grown; raise the bound"
            _, *parts = member.name.removeprefix("./").split("/")
            if parts[:1] == ["labels.csv"]:
                names = read_names(content)
            elif parts[:1] in (["malicious"], ["benign"]):
                lines[parts[0]].update(dict.fromkeys(line[:MAX_LINE] for line in content.splitlines()))
    return Samples("\n".join(lines["malicious"]), "\n".join(lines["benign"]), frozenset(names))


def read_names(labels: str) -> set[str]:
    """Names of skills and of the groups they belong to ("campaign:NAME" is NAME)."""
    rows = list(csv.DictReader(io.StringIO(labels)))
    return {row["name"] for row in rows} | {row["group"].partition(":")[2] for row in rows}


@cache
def load_constants() -> dict[str, list[str]]:
    """Every text in the scanner's source, in lower case, and where it stands."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*")):
        if "reports" in path.parts:  # pages, styles: nothing there finds anything
            continue
        where = str(path.relative_to(ROOT))
        if path.suffix == ".py":
            for line, text in list_strings(ast.parse(path.read_text("utf-8"))):
                found.setdefault(text.lower(), []).append(f"{where}:{line}")
        elif path.is_file() and path.suffix != ".pyc":
            found.setdefault(path.read_text("utf-8", "replace").lower(), []).append(where)
    return found


def list_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = node.value
            yield node.lineno, value if isinstance(value, str) else value.decode("latin-1")


def list_violations(suspects: set[str], samples: Samples) -> list[str]:
    """Where a suspect stands as a word of its own, unless benign skills use it too."""
    words = {
        (word, where)
        for text, places in load_constants().items()
        for word in re.findall(r"[a-z0-9_@.-]*[a-z0-9_-]", text.replace("\\.", "."))
        for where in places
    }
    found = sorted((where, word) for word, where in words if word in suspects)
    return [f"{where}: {word}" for where, word in found if word not in samples.benign]


def test_no_text_of_the_scanner_names_a_skill_or_group_of_the_set() -> None:
    samples = load_samples()
    assert len(samples.names) > 100
    assert list_violations({name.lower() for name in samples.names if len(name) >= 5}, samples) == []


def test_no_text_of_the_scanner_names_a_host_of_the_attacks() -> None:
    samples = load_samples()
    hosts = set(HOST.findall(samples.malicious)) - set(HOST.findall(samples.benign))
    assert len(hosts) > 10
    hosts -= KNOWN | OPEN  # to trust a vendor is no memory of an attack that names it
    assert list_violations(hosts, samples) == []


def test_no_text_of_the_scanner_repeats_a_passage_of_an_attack() -> None:
    samples = load_samples()
    blocks: dict[str, list[tuple[str, int]]] = {}
    for text in load_constants():
        for at in range(0, len(text) - BLOCK + 1, BLOCK):
            blocks.setdefault(text[at : at + BLOCK], []).append((text, at))
    attacks = samples.malicious
    shared: dict[str, str] = {}
    for at in range(len(attacks) - BLOCK + 1):
        for text, start in blocks.get(attacks[at : at + BLOCK], ()):
            passage = extend(text, start, attacks, at).strip()
            if len(passage) >= (SHARED if passage.count(" ") > 1 else NAMED) and passage not in samples.benign:
                shared[passage] = text
    assert [f"{where}: {passage}" for passage, text in shared.items() for where in load_constants()[text]] == []


def extend(one: str, start: int, other: str, at: int) -> str:
    """The longest passage around a common block that both texts have, within one line."""
    back = 0
    while back < start and back < at and one[start - back - 1] == other[at - back - 1] != "\n":
        back += 1
    ahead = BLOCK
    while start + ahead < len(one) and at + ahead < len(other) and one[start + ahead] == other[at + ahead] != "\n":
        ahead += 1
    return one[start - back : start + ahead]
