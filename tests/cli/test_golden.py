"""Transcripts: each folder of tests/golden/cli holds a home, a project, a command and what it prints.

After a change of the output that is meant: `UPDATE_GOLDEN=1 pytest tests/cli/test_golden.py`, and read the diff.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]

CASES = Path(__file__).parent.parent / "golden" / "cli"


@pytest.mark.parametrize("case", sorted(one.name for one in CASES.iterdir()))
def test_transcript_is_as_recorded(weft: Weft, tmp_path: Path, case: str) -> None:
    for folder in ("home", "project"):
        if (CASES / case / folder).is_dir():
            shutil.copytree(CASES / case / folder, tmp_path / folder, symlinks=True, dirs_exist_ok=True)
    transcript = ""
    for command in (CASES / case / "command").read_text().splitlines():
        done = weft(*shlex.split(command)[1:], COLUMNS="100")
        transcript += f"$ {command}\n{done.stdout}--- stderr\n{done.stderr}--- exit code {done.returncode}\n"
    transcript = transcript.replace(str(tmp_path), "<tmp>")

    expected = CASES / case / "expected.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(transcript)
    assert transcript == expected.read_text()
