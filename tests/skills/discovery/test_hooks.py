"""Hooks on disk: single ones, in packs, in plugins and in skills. What is wrong with one hides no other."""

import json
import os
from pathlib import Path

import pytest

from clawft.skills.discovery.catalog import load_catalog
from clawft.skills.discovery.hooks import DiscoveredHook, load_hooks, load_skill_hooks
from clawft.skills.discovery.locations import Location, hook_locations
from clawft.skills.discovery.plugins import hook_place, load_plugins, plugin_folders
from clawft.workspace import Workspace

TEXT = "---\nname: {}\ndescription: Does it.\nmetadata: {{openclaw: {{events: [tool:before]}}}}\n---\n"


def _hook(folder: Path, handler: str = "handler.ts") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "HOOK.md").write_text(TEXT.format(folder.name))
    (folder / handler).write_text("export default () => {};\n")
    return folder


def _load(folder: Path, scope: str = "user") -> tuple[DiscoveredHook, ...]:
    return load_hooks([Location(scope, "hooks", str(folder))])


def _problems(found: tuple[DiscoveredHook, ...]) -> dict[str, str]:
    return {one.name: one.problem.code if one.problem else "" for one in found}


def test_every_name_of_a_handler_is_found_and_the_first_counts(tmp_path: Path) -> None:
    for name in ("handler.ts", "handler.js", "index.ts", "index.js", "handler.mjs"):
        _hook(tmp_path / name.replace(".", "-"), name)
    both = _hook(tmp_path / "both", "index.js")
    (both / "handler.js").write_text("export default () => {};\n")

    found = {one.name: one.handler for one in _load(tmp_path)}
    assert found["both"] == "handler.js"
    assert {name.replace(".", "-") for name in found.values()} >= {"handler-ts", "index-js", "handler-mjs"}
    assert len(found) == 6


def test_what_is_wrong_with_one_hides_no_other(tmp_path: Path) -> None:
    _hook(tmp_path / "good")
    (_hook(tmp_path / "bare") / "handler.ts").unlink()
    (_hook(tmp_path / "yaml") / "HOOK.md").write_text("---\nname: [x\n---\n")
    (_hook(tmp_path / "huge") / "HOOK.md").write_text(TEXT.format("huge") + "x" * (1 << 20))
    (_hook(tmp_path / "empty") / "HOOK.md").write_text("")
    (_hook(tmp_path / "binary") / "HOOK.md").write_bytes(b"\xff\xfe\x00\x01" * 10)
    os.mkfifo(_hook(tmp_path / "pipe") / "pipe")
    (tmp_path / "pipe" / "HOOK.md").unlink()
    os.rename(tmp_path / "pipe" / "pipe", tmp_path / "pipe" / "HOOK.md")
    (tmp_path / "folder" / "HOOK.md").mkdir(parents=True)
    (_hook(tmp_path / "linked") / "HOOK.md").unlink()
    os.symlink(tmp_path / "good" / "HOOK.md", tmp_path / "linked" / "HOOK.md")
    (_hook(tmp_path / "handled") / "handler.ts").unlink()
    os.symlink("/etc/passwd", tmp_path / "handled" / "handler.ts")
    (tmp_path / "no-hook").mkdir()
    (tmp_path / "README.md").write_text("Mine.")

    found = _problems(_load(tmp_path))
    assert found.pop("good") == ""
    assert found.pop("binary")
    assert found == {
        "bare": "hook-handler",
        "empty": "no-frontmatter",
        "folder": "not-a-file",
        "handled": "hook-handler",
        "huge": "file-too-large",
        "linked": "is-a-link",
        "pipe": "not-a-file",
        "yaml": "yaml-invalid",
    }
    said = {one.name: one.problem.message for one in _load(tmp_path) if one.problem}
    assert said["empty"] == "there is no frontmatter"  # and not that it is a skill's


def test_a_mark_and_line_ends_of_other_systems_are_read(tmp_path: Path) -> None:
    hook = _hook(tmp_path / "windows")
    (hook / "HOOK.md").write_bytes(b"\xef\xbb\xbf" + TEXT.format("windows").replace("\n", "\r\n").encode())

    (found,) = _load(tmp_path)
    assert found.hook is not None
    assert found.hook.events == ("tool:before",)


def test_a_pack_names_its_hooks_and_is_one_whole(tmp_path: Path) -> None:
    pack = tmp_path / "hooks" / "pack"
    _hook(pack / "hooks" / "one")
    _hook(pack / "deep" / "two")
    _hook(pack / "hooks" / "unnamed")
    (pack / "package.json").write_text(json.dumps({"openclaw": {"hooks": ["./hooks/one", "deep/two", 7, ""]}}))

    found = _load(tmp_path / "hooks")
    assert {(one.name, one.root) for one in found} == {("one", str(pack)), ("two", str(pack))}


def test_nothing_that_a_pack_names_lies_outside_of_it(tmp_path: Path) -> None:
    pack, outside = tmp_path / "hooks" / "pack", _hook(tmp_path / "outside")
    _hook(pack / "good")
    _hook(pack / ".git" / "hidden")
    os.symlink(outside, pack / "link")
    named = ["good", "../../outside", str(outside), "link", "missing", ".git/hidden"]
    (pack / "package.json").write_text(json.dumps({"openclaw": {"hooks": named}}))

    found = [(os.path.relpath(one.folder, pack), one.problem.code if one.problem else "") for one in _load(pack.parent)]
    assert found == [
        ("good", ""),
        ("../../outside", "link-leaves-root"),
        ("link", "link-leaves-root"),
        ("missing", "hook-missing"),
        (".git/hidden", "link-leaves-root"),
    ]


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"openclaw": 1}', '{"openclaw": {"hooks": {}}}', "\udcff"])
def test_a_package_that_cannot_be_read_hides_no_hook(tmp_path: Path, text: str) -> None:
    _hook(tmp_path / "good")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "package.json").write_text(text, errors="surrogateescape")

    found = _problems(_load(tmp_path))
    assert found.pop("good") == ""
    assert found in ({}, {"pack": "hook-pack"})


def test_a_link_of_a_project_may_not_lead_out_of_its_folder_of_hooks(tmp_path: Path) -> None:
    outside = _hook(tmp_path / "outside")
    (tmp_path / "hooks").mkdir()
    os.symlink(outside, tmp_path / "hooks" / "linked")

    assert _problems(_load(tmp_path / "hooks", "project")) == {"linked": "link-leaves-root"}
    assert _problems(_load(tmp_path / "hooks", "plugin")) == {"linked": "link-leaves-root"}
    assert _problems(_load(tmp_path / "hooks", "user")) == {"outside": ""}  # one's own link is one's own business


def test_a_folder_with_too_many_is_told_and_the_rest_left_out(tmp_path: Path) -> None:
    for number in range(203):
        _hook(tmp_path / f"hook-{number:03}")

    found = _load(tmp_path)
    assert len(found) == 201
    assert found[-1].problem is not None
    assert found[-1].problem.code == "hook-limit"


def test_skills_bring_hooks_and_only_from_within(tmp_path: Path) -> None:
    outside = _hook(tmp_path / "outside")
    skill = tmp_path / "skills" / "notes"
    _hook(skill / "hooks" / "openclaw")
    _hook(skill / "other")
    os.symlink(outside, skill / "hooks" / "away")
    os.symlink(skill / "other", skill / "hooks" / "within")
    (skill / "SKILL.md").write_text("---\nname: notes\ndescription: Keeps notes.\n---\n\nBody.\n")
    catalog = load_catalog([Location("user", "skills", str(tmp_path / "skills"))], max_prompt_bytes=10_000)

    found = load_skill_hooks(catalog.found)
    assert {one.folder.rpartition("/")[2]: one.problem.code if one.problem else "" for one in found} == {
        "openclaw": "",
        "away": "link-leaves-root",
        "within": "link-leaves-root",  # no digest follows a link
    }
    assert {one.root for one in found} == {str(skill)}


def test_the_folders_that_are_searched_and_their_order(tmp_path: Path) -> None:
    home, project = str(tmp_path / "home"), str(tmp_path / "project")
    workspace = Workspace(home, f"{home}/.clawft", project, project)
    _hook(tmp_path / "home" / ".clawft" / "plugins" / "tools" / "hooks" / "brought")
    (tmp_path / "home" / ".clawft" / "plugins" / ".hidden").mkdir()

    plugins = load_plugins(plugin_folders(workspace, entry_points=False))
    locations = hook_locations(workspace, ["~/more", "local"], [one for one in map(hook_place, plugins) if one])
    assert [(one.scope, one.path) for one in locations] == [
        ("user", f"{home}/.clawft/hooks"),
        ("extra", f"{home}/more"),
        ("extra", f"{project}/local"),
        ("installed", f"{home}/.openclaw/hooks"),
        ("plugin", f"{home}/.clawft/plugins/tools/hooks"),
        ("project", f"{project}/.clawft/hooks"),
        ("project", f"{project}/hooks"),
    ]
    (found,) = load_hooks(locations)
    assert (found.name, found.scope, found.layer) == ("brought", "plugin", "tools")
