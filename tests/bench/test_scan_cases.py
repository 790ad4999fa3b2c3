"""Case files: text becomes the skill that it describes, encoded and packed as it says."""

import base64
import gzip
import zipfile
from pathlib import Path

import pytest

from scan_cases import read_cases, write_cases
from scan_labels import load_labels

TEXT = """# What these are.
@@ one: Says one thing.
@ scripts/run.sh
#!/bin/sh
echo {{gz b64:hello there}}
@ data.bin = zip:inner.txt
inside
\\@ not a file
@@ two: Says two things.
@ SKILL.md
# Two
"""


def test_a_case_is_written_with_its_disguises(tmp_path: Path) -> None:
    (tmp_path / "attacks.txt").write_text(TEXT)
    one, two = read_cases(tmp_path)
    top = one.write(tmp_path / "out")
    script = (top / "scripts" / "run.sh").read_text()
    assert gzip.decompress(base64.b64decode(script.split()[-1])) == b"hello there"
    assert (top / "scripts" / "run.sh").stat().st_mode & 0o100
    assert zipfile.ZipFile(top / "data.bin").read("inner.txt") == b"inside\n@ not a file\n"
    assert "- `scripts/run.sh`" in (top / "SKILL.md").read_text()
    assert (
        (two.write(tmp_path) / "SKILL.md").read_text().startswith("---\nname: two\ndescription: Says two things.\n---")
    )


def test_cases_make_a_labelled_folder(tmp_path: Path) -> None:
    (tmp_path / "attacks.txt").write_text(TEXT)
    (tmp_path / "benign-texts.txt").write_text("@@ fine: Says nothing.\n@ notes.md\nNothing.\n")
    write_cases(read_cases(tmp_path), tmp_path / "set")
    skills = load_labels(str(tmp_path / "set"))
    assert [(one.name, one.malicious, one.category) for one in skills] == [
        ("one", True, "attacks"),
        ("two", True, "attacks"),
        ("fine", False, "benign-texts"),
    ]


def test_text_outside_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "attacks.txt").write_text("@@ one: Says.\nlost\n")
    with pytest.raises(SystemExit, match="text outside of a file"):
        read_cases(tmp_path)
