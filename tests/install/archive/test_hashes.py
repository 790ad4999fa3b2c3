"""The hashes of other tools: how clawhub 0.20.0 and skills 1.5.18 compute them on node 20."""

import hashlib
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from clawft.install.archive.hashes import (
    clawhub_fingerprint,
    counts_for_clawhub,
    fingerprint_folder,
    github_content_hash,
    sort_by_path,
    vercel_folder_hash,
)

NODE = shutil.which("node")
SORT = (
    "const p=JSON.parse(require('fs').readFileSync(0));console.log(JSON.stringify(p.sort((a,b)=>a.localeCompare(b))))"
)
ASCII = "".join(map(chr, range(0x20, 0x7F)))


def _make(folder: Path) -> Path:
    """A folder with everything that one tool or the other leaves out."""
    for path, content in {
        "SKILL.md": b"hi\n",
        "sub/a.py": b"x\n",
        "sub/B.PY": b"X\n",
        "logo.png": b"img\n",
        "bin": b"a\0b",
        "Makefile": b"plain",
        "cut": b"x" * 4095 + "é".encode(),
        "odd.": b"x.",
        ".hidden.md": b"h\n",
        "sub/.hid/x.md": b"h\n",
        "node_modules/x.js": b"n\n",
        ".git/config": b"g\n",
        "out/o.md": b"o\n",
        "KEEP.log": b"k\n",
        "_meta.json": b"z\n",
        "zebra.md": b"q2\n",
        "a_b.md": b"q3\n",
        "a-b.md": b"q4\n",
        ".clawhub/origin.json": b"{}\n",
        ".gitignore": b"OUT/\r\n*.LOG\n!keep.log\n#c\nsub/b*\n",
        ".clawhubignore": b"/zebra.md\n",
        "README.backup": b"b\n",
    }.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    os.symlink("SKILL.md", folder / "link.md")
    return folder


def test_a_folder_has_the_fingerprint_that_clawhub_computes(tmp_path: Path) -> None:
    folder = _make(tmp_path / "skill")
    assert fingerprint_folder(str(folder)) == "edbe16a578678539fdac32d6e108e3b802f1ecf393d84cd3b3746992fac9d1f4"


def test_what_came_with_the_download_can_be_left_out_of_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(b"a")
    alone = fingerprint_folder(str(tmp_path))
    (tmp_path / "_meta.json").write_bytes(b"{}")
    assert fingerprint_folder(str(tmp_path)) != alone
    assert fingerprint_folder(str(tmp_path), leave_out=["_meta.json"]) == alone


def test_a_folder_without_text_has_no_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"x")
    assert fingerprint_folder(str(tmp_path)) == ""


@pytest.mark.parametrize("name", ["é.md".encode(), "结构.md".encode(), b"a\nb.md", b"\xff.md"])
def test_the_hash_over_names_whose_order_is_not_known_cannot_be_told(tmp_path: Path, name: bytes) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
        file.write("x")
    assert fingerprint_folder(str(tmp_path))  # a single file that counts has no order
    (tmp_path / "SKILL.md").write_text("x")
    assert fingerprint_folder(str(tmp_path)) is None
    assert vercel_folder_hash(str(tmp_path)) is None
    assert github_content_hash([("SKILL.md", 1, "aa"), (os.fsdecode(name), 1, "bb")]) is None


def test_a_folder_has_the_hash_that_the_skills_command_computes(tmp_path: Path) -> None:
    folder = _make(tmp_path / "skill")
    assert vercel_folder_hash(str(folder)) == "e731e44a5039fb2e8cef5214ee6c7d40ab39e61c90f6d489bde0bb1e6472e922"


def test_files_have_the_fingerprint_of_the_folder_they_are_in_in_any_order(tmp_path: Path) -> None:
    files = {"SKILL.md": b"one", "a/b.md": b"two", "a-b.md": b"three", "A.md": b"four"}
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    hashed = [(path, hashlib.sha256(content).hexdigest()) for path, content in files.items()]
    assert clawhub_fingerprint(hashed) == fingerprint_folder(str(tmp_path)) == clawhub_fingerprint(reversed(hashed))


def test_the_content_hash_is_over_path_size_and_digest_in_their_order() -> None:
    files = [("b.md", 2, "bb"), ("A.md", 1, "aa"), ("a_c.md", 3, "cc")]
    expected = "a_c.md\0003\0cc\nA.md\0001\0aa\nb.md\0002\0bb"
    assert github_content_hash(files) == hashlib.sha256(expected.encode()).hexdigest()


@pytest.mark.parametrize(
    ("path", "sample", "counts"),
    [
        ("a.md", b"\0", True),
        ("a.MD", b"", True),
        ("a.md mdx", b"", False),
        ("a.png", b"text", False),
        ("Makefile", b"all:", True),
        ("program", b"\x7fELF\0", False),
        ("notes", b"\xff", False),
        (".env", b"A=1", False),
        ("a/.b/c.md", b"", False),
        ("name.", b"x", True),
        ("prod.env", b"A=1", True),
    ],
)
def test_clawhub_takes_in_what_is_text_and_not_hidden(path: str, sample: bytes, counts: bool) -> None:
    assert counts_for_clawhub(path, sample) is counts


def _order(paths: list[str]) -> list[str]:
    ordered = sort_by_path(paths, str)
    assert ordered is not None
    return ordered


def test_names_are_in_the_order_of_letters_not_of_bytes() -> None:
    names = ["_meta.json", "a-b.md", "a.md", "a/b.md", "a1", "ab", "aB", "Ab", "b", "SKILL.md"]
    assert _order(random.Random(4).sample(names, len(names))) == names


@pytest.mark.skipif(NODE is None, reason="Needs node.")
def test_names_are_in_the_order_of_node() -> None:
    dice = random.Random(10)
    names = ["".join(dice.choices(ASCII, k=dice.randint(1, 6))) for _ in range(2000)]
    near = [name[:at] + dice.choice(ASCII) + name[at + 1 :] for name in names for at in [dice.randrange(len(name))]]
    given = sorted({*names, *near})
    done = subprocess.run(
        [NODE or "", "-e", SORT], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60
    )
    assert _order(given) == json.loads(done.stdout)
