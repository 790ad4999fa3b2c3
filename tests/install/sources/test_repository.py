"""Which skills a tree of files holds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ClawftError, NotFound
from clawft.install.sources.repository import RepositorySkill, find_skills, list_documents


def skill(name: str, more: str = "") -> bytes:
    return f"---\nname: {name}\ndescription: About {name}.\n{more}---\nDo it.\n".encode()


def held(files: dict[str, bytes], base: str = "", chosen: str = "", top: str = "top") -> tuple[RepositorySkill, ...]:
    wanted = list_documents(files, base, chosen)
    return find_skills({path: files[path] for path in wanted}, base, chosen, top)


def paths(files: dict[str, bytes], base: str = "", chosen: str = "") -> list[str]:
    return [one.path for one in held(files, base, chosen)]


def tree(*folders: str) -> dict[str, bytes]:
    return {f"{one}/SKILL.md": skill(one.rpartition("/")[2]) for one in folders}


def test_a_skill_at_the_top_is_the_one_that_is_meant() -> None:
    files = {"SKILL.md": skill("notes", "version: 1.2.0\n"), "ref/a.md": b""} | tree(
        "skills/other", ".claude/skills/dev"
    )
    assert held(files) == (RepositorySkill("", "notes", "About notes.", "1.2.0"),)
    assert paths(files, chosen="other") == ["skills/other"], "another is had by its name"


def test_a_skill_that_names_no_version_has_none() -> None:
    assert held({"SKILL.md": skill("notes") + b"Tell the version.\n"})[0].version == ""


def test_a_skill_at_the_top_without_a_name_is_called_as_the_place_is() -> None:
    assert held({"SKILL.md": b"Just do it.\n"}, top="My Notes")[0].name == "my-notes"


@pytest.mark.parametrize(
    "folder",
    [
        "notes",
        "skills/notes",
        "skills/.curated/notes",
        "skills/.system/notes",
        "skills/writing/notes",
        "skills/a/b/notes",
        ".claude/skills/notes",
        ".agents/skills/notes",
        ".clawft/skills/notes",
        "packages/tools/skill/notes",
    ],
)
def test_skills_are_found_where_they_are_kept(folder: str) -> None:
    assert [(one.path, one.name) for one in held(tree(folder) | {"README.md": b""})] == [(folder, "notes")]


def test_what_lies_where_skills_are_kept_hides_what_lies_anywhere_else() -> None:
    files = tree("skills/notes", "examples/deep/in/there")
    assert paths(files) == ["skills/notes"]
    assert paths(files, chosen="there") == ["examples/deep/in/there"]


@pytest.mark.parametrize("folder", ["node_modules/x/skills/notes", "a/b/c/d/e/f/g", "dist/notes", ".git/notes"])
def test_what_is_built_brought_along_or_too_deep_is_no_skill(folder: str) -> None:
    with pytest.raises(NotFound) as caught:
        held(tree(folder))
    assert caught.value.code == "source-no-skill"


def test_what_lies_in_a_skill_is_a_part_of_it() -> None:
    assert paths(tree("skills/notes", "skills/notes/examples/one")) == ["skills/notes"]


def test_a_folder_of_the_tree_can_be_meant() -> None:
    files = tree("a/skills/notes", "b/skills/other")
    assert paths(files, "a") == ["a/skills/notes"]
    assert paths(files, "b/skills/other") == ["b/skills/other"]
    with pytest.raises(NotFound) as caught:
        held(files, "c")
    assert caught.value.code == "source-path"


def test_in_a_folder_of_skills_some_may_lie_deeper() -> None:
    files = tree("skills/notes", "skills/writing/letters", "other/skills/a", "other/b/c")
    assert paths(files) == ["skills/notes", "skills/writing/letters"]
    assert paths(files, "skills") == ["skills/notes", "skills/writing/letters"]


def test_a_marketplace_and_its_plugins_tell_where_their_skills_are() -> None:
    market = {
        "plugins": [{"name": "p", "source": "./packs/p"}, {"name": "q", "source": "./", "skills": ["./x/y/notes"]}]
    }
    plugin = {"name": "p", "skills": ["./extra/one", "../../outside"]}
    files = {
        ".claude-plugin/marketplace.json": json.dumps(market).encode(),
        "packs/p/.claude-plugin/plugin.json": json.dumps(plugin).encode(),
    }
    files |= tree("packs/p/skills/inner", "packs/p/extra/one", "x/y/notes", "x/y/z/unlisted", "outside/deep/er")
    assert paths(files) == ["packs/p/extra/one", "packs/p/skills/inner", "x/y/notes"]


@pytest.mark.parametrize(
    "broken", [b"", b"[", b"[]", b'{"plugins": 3}', b'{"plugins": [3]}', b'{"plugins":' + b"[" * 9999]
)
def test_a_marketplace_that_cannot_be_read_hides_nothing(broken: bytes) -> None:
    files = tree("skills/notes") | {".claude-plugin/marketplace.json": broken, ".claude-plugin/plugin.json": broken}
    assert paths(files) == ["skills/notes"]


def test_the_skills_of_an_agent_plugin_are_those_in_its_folder() -> None:
    manifest = {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p"}
    files = {"plugin.json": json.dumps(manifest).encode()} | tree("skills/a", "skills/b")
    assert [one.name for one in held(files)] == ["a", "b"]


def test_a_skill_for_own_use_is_had_only_by_name() -> None:
    inner = {"skills/inner/SKILL.md": skill("inner", "metadata:\n  internal: true\n")}
    assert paths(inner | tree("skills/notes")) == ["skills/notes"]
    assert paths(inner | tree("skills/notes"), chosen="inner") == ["skills/inner"]
    with pytest.raises(NotFound) as caught:
        held(inner)
    assert "inner" in caught.value.hint


def test_of_two_skills_with_one_name_the_other_is_told_of() -> None:
    (one,) = held(tree("skills/notes", ".claude/skills/notes"))
    assert one.path == "skills/notes"
    assert [(note.code, ".claude/skills/notes" in note.message) for note in one.notes] == [("source-duplicate", True)]


def test_a_skill_is_chosen_by_its_own_name_before_that_of_a_folder() -> None:
    files = {"skills/a/SKILL.md": skill("b"), "skills/b/SKILL.md": skill("c")}
    assert paths(files, chosen="b") == ["skills/a"]
    assert paths(files, chosen="a") == ["skills/a"]


def test_a_name_that_no_skill_has_is_told_with_those_there_are() -> None:
    with pytest.raises(NotFound) as caught:
        held(tree("skills/notes", "skills/other"), chosen="nots")
    assert caught.value.code == "source-skill"
    assert "did you mean 'notes'" in caught.value.hint
    assert "other" in caught.value.hint


def test_a_broken_skill_is_not_hidden() -> None:
    files = {"skills/bad/SKILL.md": b"---\n[: {\n---\n", "skills/binary/SKILL.md": b"\0\xff"} | tree("skills/notes")
    assert [one.name for one in held(files)] == ["bad", "binary", "notes"]


def test_more_skills_than_anybody_reads_is_an_error_unless_one_is_named() -> None:
    files = dict.fromkeys((f"skills/s{number}/SKILL.md" for number in range(5_001)), b"")
    with pytest.raises(ClawftError) as caught:
        list_documents(files)
    assert caught.value.code == "source-too-many"
    assert list_documents(files, skill="s7") == ["skills/s7/SKILL.md"]


_PARTS = st.sampled_from(
    ["skills", ".claude", "a", "SKILL.md", "..", "", "skill.json", "plugin.json", ".claude-plugin"]
)


@given(st.dictionaries(st.lists(_PARTS, min_size=1, max_size=6).map("/".join), st.binary(max_size=20), max_size=12))
def test_any_tree_gives_skills_of_its_own_or_an_error_of_ours(files: dict[str, bytes]) -> None:
    try:
        found = held(files)
    except ClawftError:
        return
    for one in found:
        assert any(path.startswith(f"{one.path}/" if one.path else "") for path in files)
        assert one.name
