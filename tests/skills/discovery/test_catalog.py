"""What is found below a folder: scan, list, get and refresh."""

import json
from pathlib import Path

import pytest

from clawft.errors import ClawftError
from clawft.skills.discovery import Catalog, DiscoveredSkill, Location, load_catalog, load_prompt

LIMIT = 32 * 1024


def _load(*roots: Path, cache: Path | None = None) -> Catalog:
    locations = [Location("project", root.name, str(root)) for root in roots]
    return load_catalog(locations, max_prompt_bytes=LIMIT, cache_dir=str(cache) if cache else None)


def _write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)
    return folder


def _codes(found: DiscoveredSkill) -> list[str]:
    return [one.code for one in found.diagnostics]


def test_skill_md_is_found(tmp_path: Path) -> None:
    _write(tmp_path / "my-skill", "---\nname: my-skill\ndescription: Test\n---\n\nPrompt.")

    catalog = _load(tmp_path)

    assert len(catalog.found) == 1
    found = catalog.found[0]
    assert found.name == "my-skill"
    assert found.folder == str(tmp_path / "my-skill")
    assert found.file == str(tmp_path / "my-skill" / "SKILL.md")
    assert found.problem is None
    assert found.skill is not None
    assert (found.skill.format, found.skill.description) == ("skill.md", "Test")


def test_legacy_skill_is_found_with_its_prompt(tmp_path: Path) -> None:
    (tmp_path / "old-skill").mkdir()
    (tmp_path / "old-skill" / "skill.json").write_text(json.dumps({"name": "old-skill", "description": "Old one"}))
    (tmp_path / "old-skill" / "prompt.md").write_text("prompt text")

    (found,) = _load(tmp_path).found

    assert found.skill is not None
    assert (found.name, found.skill.format, found.skill.description) == ("old-skill", "legacy", "Old one")
    assert load_prompt(found, LIMIT).prompt == "prompt text"


def test_skill_md_takes_precedence_over_skill_json_in_one_folder(tmp_path: Path) -> None:
    _write(tmp_path / "dual", "---\nname: dual\ndescription: From SKILL.md\n---\n\nMD prompt.")
    (tmp_path / "dual" / "skill.json").write_text(json.dumps({"name": "dual", "description": "From skill.json"}))
    (tmp_path / "dual" / "prompt.md").write_text("JSON prompt.")

    (found,) = _load(tmp_path).found

    assert found.skill is not None
    assert (found.skill.format, found.skill.description) == ("skill.md", "From SKILL.md")
    assert load_prompt(found, LIMIT).prompt == "MD prompt."


def test_broken_skill_md_does_not_fall_back_to_skill_json(tmp_path: Path) -> None:
    _write(tmp_path / "dual", "---\nname: dual\nno end\n")
    (tmp_path / "dual" / "skill.json").write_text(json.dumps({"name": "dual", "description": "From skill.json"}))

    (found,) = _load(tmp_path).found

    assert found.skill is None
    assert _codes(found) == ["frontmatter-unterminated"]


def test_earlier_location_comes_first(tmp_path: Path) -> None:
    _write(tmp_path / "project" / "shared", "---\nname: shared\ndescription: Project version\n---\n")
    _write(tmp_path / "user" / "shared", "---\nname: shared\ndescription: User version\n---\n")

    catalog = _load(tmp_path / "project", tmp_path / "user")

    assert [one.skill.description for one in catalog.found if one.skill] == ["Project version", "User version"]
    assert [one.location.layer for one in catalog.found] == ["project", "user"]


def test_missing_folders_give_an_empty_catalog_without_a_word(tmp_path: Path) -> None:
    assert _load(tmp_path / "nonexistent") == Catalog()


@pytest.mark.parametrize("scope", ["dir", "extra"])
def test_a_missing_folder_that_somebody_named_is_said(tmp_path: Path, scope: str) -> None:
    catalog = load_catalog([Location(scope, "x", str(tmp_path / "nowhere"))], max_prompt_bytes=LIMIT)

    assert catalog.found == ()
    (said,) = catalog.diagnostics
    assert (said.code, said.severity, said.path) == ("no-folder", "warning", str(tmp_path / "nowhere"))


def test_one_bad_skill_hides_no_other(tmp_path: Path) -> None:
    _write(tmp_path / "a-good", "---\nname: a-good\ndescription: d\n---\n")
    _write(tmp_path / "bad", "---\nname: bad\ndescription: never ends\n")
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "SKILL.md").write_bytes(b"---\nname: x\0y\n---\n")
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "skill.json").write_text("{nope")
    _write(tmp_path / "z-good", "---\nname: z-good\ndescription: d\n---\n")

    catalog = _load(tmp_path)

    assert [one.name for one in catalog.found] == ["a-good", "bad", "binary", "json", "z-good"]
    problems = {one.name: one.problem for one in catalog.found if one.problem}
    assert {name: one.code for name, one in problems.items()} == {
        "bad": "frontmatter-unterminated",
        "binary": "not-text",
        "json": "json-invalid",
    }
    assert all(one.severity == "error" and one.path.startswith(str(tmp_path)) for one in problems.values())


def test_catalog_holds_no_prompt_and_the_prompt_is_read_when_asked_for(tmp_path: Path) -> None:
    folder = _write(tmp_path / "lazy", "---\nname: lazy\ndescription: d\n---\n\nFirst body.")
    (found,) = _load(tmp_path).found
    assert found.skill is not None
    assert found.skill.prompt is None

    _write(folder, "---\nname: lazy\ndescription: d\n---\n\nSecond body.")

    assert load_prompt(found, LIMIT).prompt == "Second body."


def test_prompt_of_a_removed_skill_is_an_error_with_its_path(tmp_path: Path) -> None:
    folder = _write(tmp_path / "gone", "---\nname: gone\ndescription: d\n---\n\nBody.")
    (found,) = _load(tmp_path).found
    (folder / "SKILL.md").unlink()

    with pytest.raises(ClawftError) as caught:
        load_prompt(found, LIMIT)

    assert caught.value.code == "skill-gone"
    assert caught.value.diagnostic.path == found.file


def test_prompt_over_the_limit_is_cut_with_a_warning(tmp_path: Path) -> None:
    _write(tmp_path / "long", "---\nname: long\ndescription: d\n---\n\n" + "é" * 600)
    catalog = load_catalog([Location("project", "p", str(tmp_path))], max_prompt_bytes=1001)
    (found,) = catalog.found

    skill = load_prompt(found, 1001)

    assert skill.prompt == "é" * 500
    assert "body-truncated" in _codes(found)


def test_skills_are_listed_got_by_name_and_refreshed_after_a_change(tmp_path: Path) -> None:
    """Scan, list, get, and a refresh that sees an edit, an addition and a removal."""
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _write(root / "code-review", "---\nname: code-review\ndescription: Review code quality and risks\n---\nBody")
    _write(root / "doomed", "---\nname: doomed\ndescription: d\n---\nBody")
    before = {one.name: one for one in _load(root, cache=cache).found}
    assert sorted(before) == ["code-review", "doomed"]

    _write(root / "code-review", "---\nname: code-review\ndescription: Review risks only\n---\nBody")
    _write(root / "added", "---\nname: added\ndescription: d\n---\nBody")
    (root / "doomed" / "SKILL.md").unlink()

    after = {one.name: one.skill for one in _load(root, cache=cache).found}
    assert sorted(after) == ["added", "code-review"]
    assert after["code-review"] is not None
    assert after["code-review"].description == "Review risks only"


def test_name_in_the_frontmatter_wins_over_the_folder(tmp_path: Path) -> None:
    _write(tmp_path / "folder-name", "---\nname: real-name\ndescription: d\n---\n")

    (found,) = _load(tmp_path).found

    assert found.name == "real-name"
    assert _codes(found) == ["name-not-folder"]


def test_skill_without_frontmatter_is_loaded_under_its_folder(tmp_path: Path) -> None:
    _write(tmp_path / "Plain_Notes", "# Title\n\nJust a paragraph\nof text.\n")

    (found,) = _load(tmp_path).found

    assert found.skill is not None
    assert (found.name, found.skill.description) == ("plain-notes", "Just a paragraph of text.")
    assert "no-frontmatter" in _codes(found)


@pytest.mark.parametrize("name", ["my skill", "café", "a.b", "a\nb", "semi;colon", "quote'"])
def test_folder_name_outside_the_charset_is_broken(tmp_path: Path, name: str) -> None:
    _write(tmp_path / name, "---\nname: fine\ndescription: d\n---\n")

    (found,) = _load(tmp_path).found

    assert found.skill is None
    assert found.name == name
    assert _codes(found) == ["folder-name"]


@pytest.mark.parametrize("name", ["A", "snake_case", "-", "_x-", "9"])
def test_folder_name_inside_the_charset_is_fine(tmp_path: Path, name: str) -> None:
    _write(tmp_path / name, "---\nname: fine\ndescription: d\n---\n")

    assert _load(tmp_path).found[0].name == "fine"


def test_of_two_skills_with_one_name_in_a_layer_the_first_path_comes_first(tmp_path: Path) -> None:
    _write(tmp_path / "zzz", "---\nname: twin\ndescription: from zzz\n---\n")
    _write(tmp_path / "aaa", "---\nname: twin\ndescription: from aaa\n---\n")
    _write(tmp_path / "mmm" / "deep", "---\nname: twin\ndescription: from mmm\n---\n")

    catalog = _load(tmp_path)

    assert [one.skill.description for one in catalog.found if one.skill] == ["from aaa", "from mmm", "from zzz"]


@pytest.mark.parametrize("file", ["skill.md", "Skill.md", "SKILL.MD"])
def test_other_spelling_of_the_file_is_accepted_with_a_warning(tmp_path: Path, file: str) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / file).write_text("---\nname: low\ndescription: d\n---\n\nBody.")

    (found,) = _load(tmp_path).found

    assert found.file == str(tmp_path / "low" / file)
    assert found.skill is not None
    (said,) = found.diagnostics
    assert (said.code, said.severity) == ("file-name", "warning")
    assert load_prompt(found, LIMIT).prompt == "Body."


def test_legacy_skill_without_prompt_is_said(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "skill.json").write_text('{"name": "old", "description": "d"}')

    (found,) = _load(tmp_path).found

    assert _codes(found) == ["prompt-missing"]
    assert load_prompt(found, LIMIT).prompt is None
