"""Locks of other installers: written as they write them, with all kept that is theirs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ClawftError
from clawft.install.lockfile.foreign import (
    add_clawhub,
    add_global,
    add_project,
    drop_clawhub,
    drop_global,
    drop_project,
    find_global_lock,
    folder_name,
    folder_of,
    load_origin,
    render_origin,
)
from clawft.install.lockfile.model import LockedSkill, SkillOrigin

NOW = "2026-01-02T03:04:05.678Z"


def skill(name: str = "tool", **origin: str) -> LockedSkill:
    fields: dict[str, Any] = {"kind": "clawhub", "url": "https://clawhub.ai", "owner": "acme", "slug": name, **origin}
    return LockedSkill(name, SkillOrigin(**fields), "sha256:0", {}, version="1.2.3", pinned="")


def from_git(url: str = "https://github.com/acme/tools", ref: str = "", path: str = "skills/tool") -> LockedSkill:
    return LockedSkill("tool", SkillOrigin("git", url, ref=ref, path=path), "sha256:0", {}, commit="0" * 40)


def test_a_first_skill_makes_a_lock_as_clawhub_would() -> None:
    text = add_clawhub(None, "lock.json", skill(), 1730000000000)
    assert text == (
        '{\n  "version": 1,\n  "skills": {\n    "tool": {\n      "version": "1.2.3",\n'
        '      "installedAt": 1730000000000,\n      "ownerHandle": "acme"\n    }\n  }\n}\n'
    )


def test_what_clawhub_wrote_of_others_stays_to_the_letter() -> None:
    other = {"version": None, "installedAt": 1, "pinned": True, "pinReason": "é", "later": {"x": [1]}}
    before = {
        "version": 1,
        "skills": {"other": other, "tool": {"version": "1.0.0", "installedAt": 5, "kept": 1}},
        "more": 2,
    }
    after = json.loads(add_clawhub(json.dumps(before).encode(), "", skill(), 9))
    assert (after["skills"]["other"], after["more"]) == (other, 2)
    assert after["skills"]["tool"] == {"version": "1.2.3", "installedAt": 9, "kept": 1, "ownerHandle": "acme"}
    assert list(after["skills"]) == ["other", "tool"]
    gone = drop_clawhub(json.dumps(before).encode(), "", "tool")
    assert gone is not None
    assert json.loads(gone) == {**before, "skills": {"other": other}}
    assert drop_clawhub(json.dumps(before).encode(), "", "none") is None


def test_an_origin_is_read_again(tmp_path: Path) -> None:
    (tmp_path / ".clawhub").mkdir()
    (tmp_path / ".clawhub" / "origin.json").write_text(render_origin(skill(), "f" * 64, 7))
    origin = load_origin(str(tmp_path))
    assert origin is not None
    assert (origin.registry, origin.slug, origin.installed_version) == ("https://clawhub.ai", "tool", "1.2.3")
    assert (origin.owner_handle, origin.fingerprint, origin.installed_at) == ("acme", "f" * 64, 7)
    (tmp_path / ".clawhub" / "origin.json").write_text('{"version": 2}')
    assert load_origin(str(tmp_path)) is None


def test_keys_of_clawhub_lead_to_folders_below_the_root() -> None:
    assert folder_of("tool", "/r") == ["/r/tool"]
    assert folder_of("@acme/tool", "/r") == ["/r/@acme/tool", "/r/tool"]
    assert folder_of("skills-sh:acme/tools/tool", "/r") == ["/r/tool"]
    assert [folder_of(key, "/r") for key in ("..", "a/b", "@../x", "/etc", "a\nb")] == [[]] * 5


def test_a_projects_lock_is_sorted_and_has_no_time() -> None:
    first = add_project(None, "", from_git(), "c" * 64)
    assert json.loads(first) == {
        "version": 1,
        "skills": {
            "tool": {
                "source": "acme/tools",
                "sourceType": "github",
                "skillPath": "skills/tool/SKILL.md",
                "computedHash": "c" * 64,
            }
        },
    }
    assert list(json.loads(first)["skills"]["tool"]) == ["source", "sourceType", "skillPath", "computedHash"]
    assert first.endswith("}\n")
    two = json.loads(add_project(first.encode(), "", skill("a-first"), "d" * 64))
    assert list(two["skills"]) == ["a-first", "tool"]
    assert two["skills"]["a-first"] == {"source": "clawhub.ai", "sourceType": "well-known", "computedHash": "d" * 64}
    assert drop_project(first.encode(), "", "other") is None
    assert json.loads(drop_project(first.encode(), "", "tool") or "") == {"version": 1, "skills": {}}


def test_other_git_hosts_are_named_by_their_address() -> None:
    url = "https://git.example.com/acme/tools.git"
    entry = json.loads(add_project(None, "", from_git(url, "main", ""), "c"))["skills"]["tool"]
    assert list(entry.items()) == [
        ("source", url), ("sourceUrl", url), ("ref", "main"), ("sourceType", "git"),
        ("skillPath", "SKILL.md"), ("computedHash", "c"),
    ]  # fmt: skip


def test_a_users_lock_keeps_when_it_was_installed_and_what_was_dismissed() -> None:
    first = add_global(None, "", from_git(), "e" * 40, NOW)
    assert not first.endswith("\n")
    document = json.loads(first)
    assert (document["version"], document["dismissed"]) == (3, {})
    document |= {"dismissed": {"x": True}, "lastSelectedAgents": ["claude-code"]}
    later = json.loads(add_global(json.dumps(document).encode(), "", from_git(), "f" * 40, "later"))
    entry = later["skills"]["tool"]
    assert (entry["installedAt"], entry["updatedAt"], entry["skillFolderHash"]) == (NOW, "later", "f" * 40)
    assert (later["dismissed"], later["lastSelectedAgents"]) == ({"x": True}, ["claude-code"])
    assert "tool" not in json.loads(drop_global(json.dumps(document).encode(), "", "tool") or "")["skills"]


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1}', "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n"])
def test_what_its_own_tool_would_write_over_is_left_alone(text: str) -> None:
    works: list[Callable[[], str]] = [
        lambda: add_clawhub(text.encode(), "", skill(), 1),
        lambda: add_project(text.encode(), "", skill(), "c"),
        lambda: add_global(text.encode(), "", skill(), "c", NOW),
    ]
    for work in works:
        with pytest.raises(ClawftError) as caught:
            work()
        assert caught.value.code == "other-lock-invalid"


def test_an_older_lock_of_the_skills_command_is_not_thrown_away_as_it_would_be_by_that() -> None:
    with pytest.raises(ClawftError, match="version"):
        add_global(b'{"version": 2, "skills": {"a": {}}}', "", skill(), "c", NOW)


def test_names_become_folders_as_the_skills_command_makes_them() -> None:
    assert [folder_name(name) for name in ("My Skill", "../x", "..", "a.b_c", "Ä")] == [
        "my-skill", "x", "unnamed-skill", "a.b_c", "unnamed-skill",
    ]  # fmt: skip


def test_where_the_users_lock_is() -> None:
    assert find_global_lock("/h", {}) == "/h/.agents/.skill-lock.json"
    assert find_global_lock("/h", {"XDG_STATE_HOME": "/s"}) == "/s/skills/.skill-lock.json"
