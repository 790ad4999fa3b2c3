"""`weft skills fix`: a diff; with --write the edit, and the original kept beside it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]

ODD = "---\nname: Odd One\ndescription: Colons: here\nallowed_tools: Read\n---\n\nBody.\n"
MENDED = '---\nname: odd-one\ndescription: "Colons: here"\nallowed-tools: Read\n---\n\nBody.\n'


@pytest.fixture
def odd(project: Path) -> Path:
    """A skill file with three oddities that can be mended."""
    path = project / "skills" / "odd-one" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(ODD)
    return path


def test_fix_shows_a_diff_and_changes_nothing(weft: Weft, odd: Path) -> None:
    before = odd.stat()

    done = weft("skills", "fix", "odd-one")

    assert done.returncode == 0
    assert done.stdout.startswith("--- skills/odd-one/SKILL.md\n+++ skills/odd-one/SKILL.md\n@@")
    assert "-name: Odd One\n" in done.stdout
    assert '+description: "Colons: here"\n' in done.stdout
    assert "+allowed-tools: Read\n" in done.stdout
    assert "warning[yaml-unquoted]" in done.stderr
    assert done.stderr.endswith("1 file can be mended; apply with --write\n")
    assert odd.read_text() == ODD
    assert odd.stat().st_mtime_ns == before.st_mtime_ns
    assert [one.name for one in odd.parent.iterdir()] == ["SKILL.md"]


def test_diff_on_stdout_can_be_applied_by_patch(weft: Weft, project: Path, odd: Path) -> None:
    diff = weft("skills", "fix", "odd-one").stdout

    subprocess.run(
        ["git", "apply", "-p0", "--unidiff-zero", "-"], cwd=project, input=diff, text=True, check=True, timeout=60
    )

    assert odd.read_text() == MENDED


def test_write_mends_the_file_and_keeps_the_original_and_its_mode(weft: Weft, odd: Path) -> None:
    odd.chmod(0o640)

    done = weft("skills", "fix", "--write", "odd-one")

    assert done.returncode == 0
    assert odd.read_text() == MENDED
    assert (odd.parent / "SKILL.md.bak").read_text() == ODD
    assert odd.stat().st_mode & 0o7777 == 0o640
    assert "written; the original is skills/odd-one/SKILL.md.bak" in done.stderr
    assert done.stderr.endswith("1 file mended\n")
    assert sorted(one.name for one in odd.parent.iterdir()) == ["SKILL.md", "SKILL.md.bak"]


def test_second_write_keeps_both_originals(weft: Weft, odd: Path) -> None:
    weft("skills", "fix", "--write", "odd-one")
    odd.write_text(ODD.replace("Body", "Other body"))

    done = weft("skills", "fix", "--write", "odd-one")

    assert "SKILL.md.bak1" in done.stderr
    assert (odd.parent / "SKILL.md.bak").read_text() == ODD
    assert "Other body" in (odd.parent / "SKILL.md.bak1").read_text()


def test_mended_file_needs_no_mending(weft: Weft, odd: Path) -> None:
    weft("skills", "fix", "--write", "odd-one")

    again = weft("skills", "fix", "--write", "odd-one")

    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr == "Nothing to mend\n"
    assert not (odd.parent / "SKILL.md.bak1").exists()
    assert weft("skills", "validate", "odd-one").stdout == ""


def test_line_ends_and_bytes_that_are_not_mended_stay(weft: Weft, odd: Path) -> None:
    odd.write_bytes(ODD.replace("\n", "\r\n").encode() + "é 漢字 \u2028 tail".encode())

    weft("skills", "fix", "--write", "odd-one")

    assert odd.read_bytes() == MENDED.replace("\n", "\r\n").encode() + "é 漢字 \u2028 tail".encode()


def test_frontmatter_without_end_is_ended(weft: Weft, project: Path) -> None:
    path = project / "skills" / "half" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: half\ndescription: d\n\nBody.\n")

    weft("skills", "fix", "--write", "half")

    assert path.read_text() == "---\nname: half\ndescription: d\n---\n\nBody.\n"
    assert weft("skills", "validate", "half").returncode == 0


def test_sound_and_legacy_skills_need_no_mending(weft: Weft, project: Path) -> None:
    (project / "skills" / "sound").mkdir(parents=True)
    (project / "skills" / "sound" / "SKILL.md").write_text("---\nname: sound\ndescription: d\n---\n\nBody.\n")
    (project / "skills" / "old").mkdir()
    (project / "skills" / "old" / "skill.json").write_text('{"name": "Old One"}')

    done = weft("skills", "fix", "skills")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Nothing to mend\n")


def test_file_that_is_not_text_is_said_and_the_others_are_mended(weft: Weft, project: Path, odd: Path) -> None:
    (project / "skills" / "binary").mkdir()
    (project / "skills" / "binary" / "SKILL.md").write_bytes(b"\0\1\2")

    done = weft("skills", "fix", "--write", "skills")

    assert done.returncode == 1
    assert odd.read_text() == MENDED
    assert "skills/binary/SKILL.md:1: error[not-text]" in done.stderr
    assert (project / "skills" / "binary" / "SKILL.md").read_bytes() == b"\0\1\2"


def test_link_is_not_written_through(weft: Weft, project: Path, odd: Path) -> None:
    (project / "skills" / "linked").mkdir()
    (project / "skills" / "linked" / "SKILL.md").symlink_to("../odd-one/SKILL.md")

    done = weft("skills", "fix", "--write", "skills/linked")

    assert done.returncode == 1
    assert odd.read_text() == ODD
    assert (project / "skills" / "linked" / "SKILL.md").is_symlink()


def test_file_that_cannot_be_written_is_an_error_and_stays(
    project: Path, odd: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    odd.parent.chmod(0o555)
    try:
        done = subprocess.run(
            [*unprivileged, "weft", "skills", "fix", "--write", "odd-one"],
            cwd=project, env=child_env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        odd.parent.chmod(0o755)

    assert done.returncode == 1
    assert "not-written" in done.stderr
    assert "Permission denied" in done.stderr
    assert odd.read_text() == ODD
    assert [one.name for one in odd.parent.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize("write", [False, True])
def test_json_of_fix(weft: Weft, odd: Path, write: bool) -> None:
    done = weft("skills", "fix", "odd-one", "--format", "json", *(["--write"] if write else []))

    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert (document["schema"], document["written"]) == ("clawft.skills.fix.v1", write)
    (file,) = document["files"]
    assert file["path"] == str(odd)
    assert {one["code"] for one in file["fixed"]} == {"name-not-canonical", "yaml-unquoted", "key-spelling"}
    assert "+name: odd-one\n" in file["diff"]
    assert file["backup"] == (f"{odd}.bak" if write else None)
    assert odd.read_text() == (MENDED if write else ODD)
