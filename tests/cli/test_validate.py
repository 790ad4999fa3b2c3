"""`weft skills validate`: everything odd with path:line; exit 1 when a file cannot be used, or breaks the spec."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import clawft
from clawft.skills.discovery import Location, load_catalog

Weft = Callable[..., subprocess.CompletedProcess[str]]

BUNDLED = Path(clawft.__file__).parent / "skills" / "bundled" / "skills"
SOUND = "---\nname: {}\ndescription: A skill.\n---\n\nBody.\n"
ODD = "---\nname: Odd One\ndescription: Colons: here\n---\n\nBody.\n"
BROKEN = "---\nname: broken\n"


def _write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text.format(folder.name))


def test_sound_skill_has_nothing_to_say(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "sound", SOUND)

    done = weft("skills", "validate", "sound")

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 file checked: nothing to say\n"


def test_oddities_have_path_line_code_and_hint_and_exit_0(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "odd-one", ODD)

    done = weft("skills", "validate", "odd-one")

    assert done.returncode == 0
    assert "skills/odd-one/SKILL.md:2: warning[name-not-canonical]" in done.stdout
    assert "skills/odd-one/SKILL.md:3: warning[yaml-unquoted]" in done.stdout
    assert "  hint: Write name: odd-one\n" in done.stdout
    assert "weft skills fix" in done.stderr


def test_broken_skill_exits_1(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "broken", BROKEN)
    _write(project / "skills" / "sound", SOUND)

    done = weft("skills", "validate", "skills")

    assert done.returncode == 1
    assert "skills/broken/SKILL.md:1: error[frontmatter-unterminated]" in done.stdout
    assert done.stderr.startswith("2 files checked: 1 error")


def test_without_a_name_all_that_is_searched_is_checked(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "broken", BROKEN)

    done = weft("skills", "validate")

    assert done.returncode == 1
    count = int(done.stderr.split()[0])
    assert count == 1 + len(list(BUNDLED.iterdir()))


@pytest.mark.parametrize("target", ["odd-one", "skills/odd-one", "skills/odd-one/SKILL.md", "./skills/odd-one/"])
def test_target_may_be_a_name_a_folder_or_a_file(weft: Weft, project: Path, target: str) -> None:
    _write(project / "skills" / "odd-one", ODD)
    _write(project / "skills" / "other", SOUND)

    done = weft("skills", "validate", target)

    assert "skills/odd-one/SKILL.md:2: warning[name-not-canonical]" in done.stdout
    assert done.stderr.startswith("1 file checked")


def test_target_named_twice_is_checked_once(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "odd-one", ODD)

    done = weft("skills", "validate", "odd-one", "skills/odd-one", "skills")

    assert done.stderr.startswith("1 file checked")


def test_folder_without_a_skill_is_an_error(weft: Weft, project: Path) -> None:
    (project / "empty").mkdir()

    done = weft("skills", "validate", "empty")

    assert (done.returncode, done.stdout) == (1, "")
    assert "error[no-skill-here]" in done.stderr


def test_strict_exits_1_for_what_the_spec_forbids(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "extended", "---\nname: extended\ndescription: d\nversion: 1.0.0\n---\n\nBody.\n")

    relaxed, strict = weft("skills", "validate", "extended"), weft("skills", "validate", "--strict", "extended")

    assert (relaxed.returncode, relaxed.stdout) == (0, "")
    assert strict.returncode == 1
    assert "skills/extended/SKILL.md:4: error[spec-field]" in strict.stdout
    assert "against the Agent Skills spec" in strict.stderr


def test_strict_accepts_a_skill_to_the_letter(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "sound", SOUND)

    assert weft("skills", "validate", "--strict", "sound").returncode == 0


def test_strict_knows_no_legacy_skill(weft: Weft, project: Path) -> None:
    (project / "skills" / "old").mkdir(parents=True)
    (project / "skills" / "old" / "skill.json").write_text('{"name": "old", "description": "d"}')

    assert weft("skills", "validate", "old").returncode == 0
    strict = weft("skills", "validate", "--strict", "old")
    assert strict.returncode == 1
    assert "error[spec-file]" in strict.stdout


def test_every_bundled_skill_passes_strict(weft: Weft) -> None:
    done = weft("skills", "validate", "--strict", "--dir", BUNDLED)

    assert (done.returncode, done.stdout) == (0, "")
    catalog = load_catalog([Location("bundled", "bundled", str(BUNDLED))], max_prompt_bytes=32 * 1024)
    assert done.stderr == f"{len(catalog.found)} files checked against the Agent Skills spec: nothing to say\n"


def test_quiet_leaves_out_notes(weft: Weft, project: Path) -> None:
    _write(
        project / "skills" / "one", "---\nname: one\ndescription: d\nnobody-reads-this: 1\nnor-this: 2\n---\n\nBody.\n"
    )

    assert weft("skills", "validate", "one").stdout.count(": note[") == 2
    assert weft("skills", "validate", "-q", "one").stdout == ""


def test_json_of_validate_has_the_documented_keys(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "broken", BROKEN)
    _write(project / "skills" / "odd-one", ODD)

    done = weft("skills", "validate", "skills", "--format", "json")

    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    assert list(document) == ["schema", "ok", "files", "diagnostics"]
    assert (document["schema"], document["ok"]) == ("clawft.skills.validate.v1", False)
    broken, odd = document["files"]
    assert list(broken)[:4] == ["path", "ok", "name", "diagnostics"]
    assert (broken["ok"], broken["name"], broken["path"]) == (
        False,
        "broken",
        str(project / "skills" / "broken" / "SKILL.md"),
    )
    assert (odd["ok"], odd["name"]) == (True, "odd-one")
    assert list(odd["diagnostics"][0])[:6] == ["code", "severity", "message", "path", "line", "hint"]
