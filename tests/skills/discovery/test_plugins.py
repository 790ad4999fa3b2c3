"""Plugins on disk: where they are looked for, in which order, and what is said of a folder that is none."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clawft.skills.discovery.plugin_folders import find_entries, has_plugins
from clawft.skills.discovery.plugins import DiscoveredPlugin, load_plugin, load_plugins, plugin_folders
from clawft.workspace import Workspace

AGENT = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    home, project = str(tmp_path / "home"), str(tmp_path / "project")
    return Workspace(home, f"{home}/.clawft", project, project)


def write(path: Path, text: str | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def add(folder: Path, plugin_id: str = "org.example.one", **manifest: Any) -> Path:
    told = {"id": plugin_id, "name": "One", "version": "1.0.0", "capabilities": ["skill"], "skill_dirs": ["skills"]}
    write(folder / "clawft.plugin.json", told | manifest)
    return folder


def problem(found: DiscoveredPlugin) -> str:
    assert found.problem is not None
    assert found.manifest is None
    return found.problem.code


def test_the_users_come_first_then_extra_ones_then_packages_and_the_projects_last(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("home/.clawft/plugins/a", "more/b", "project/.clawft/plugins/c", "site-packages/packaged"):
        add(tmp_path / place, f"org.example.{os.path.basename(place)}")
    write(tmp_path / "home/.clawft/plugins/.hidden/clawft.plugin.json", "{")
    write(tmp_path / "home/.clawft/plugins/README.md", "x")
    entries = "[console_scripts]\nx = y:z\n\n[clawft.plugins]\none = packaged.plugin:Plugin\n[other]\ntwo = os:system\n"
    write(tmp_path / "site-packages/packaged-1.0.dist-info/entry_points.txt", entries)
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    found = load_plugins(plugin_folders(workspace, [str(tmp_path / "more")]))
    assert [(one.scope, one.id) for one in found] == [
        ("user", "org.example.a"),
        ("extra", "org.example.b"),
        ("python", "org.example.packaged"),
        ("project", "org.example.c"),
    ]
    assert found[2].entry == "packaged.plugin:Plugin"
    without = load_plugins(plugin_folders(workspace, entry_points=False))
    assert [one.scope for one in without] == ["user", "project"]


def test_entry_points_are_read_once_and_again_where_a_package_comes_or_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, cache = tmp_path / "site-packages", str(tmp_path / "cache")
    base.mkdir()
    monkeypatch.setattr("sys.path", [str(base)])
    os.utime(base, (1, 1))
    assert find_entries(cache) == []
    file = write(base / "a-1.dist-info" / "entry_points.txt", "[clawft.plugins]\none = a:Plugin\n")
    (base / "b-1.dist-info").mkdir()
    os.mkfifo(base / "b-1.dist-info" / "entry_points.txt")  # nobody waits for what is never written
    assert find_entries(cache) == [(str(base), "a:Plugin")]  # of what changed just now nothing is kept
    os.utime(base, (2, 2))
    assert find_entries(cache) == [(str(base), "a:Plugin")]
    file.unlink()  # no package came or went: what is known is not read again
    assert find_entries(cache) == [(str(base), "a:Plugin")]
    assert find_entries(None) == []
    os.rmdir(file.parent)
    assert find_entries(cache) == []
    write(tmp_path / "cache" / "packages.json", "damaged")
    assert find_entries(cache) == []


@pytest.mark.parametrize("value", ["../../evil:Plugin", "/etc:Plugin", "gone:Plugin", ":x", "..:x", ""])
def test_an_entry_point_leads_nowhere_but_to_a_package_beside_it(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    add(tmp_path / "evil")
    write(tmp_path / "site-packages/a-1.dist-info/entry_points.txt", f"[clawft.plugins]\none = {value}\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site-packages")])
    assert [one.manifest for one in load_plugins(plugin_folders(workspace)) if one.manifest] == []


def test_a_projects_plugin_must_really_lie_there(workspace: Workspace, tmp_path: Path) -> None:
    add(tmp_path / "elsewhere")
    for place in ("project/.clawft/plugins", "home/.clawft/plugins"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "linked").symlink_to(tmp_path / "elsewhere")
    user, project = load_plugins(plugin_folders(workspace, entry_points=False))
    assert user.id == "org.example.one"
    assert problem(project) == "plugin-link"


def test_what_is_wrong_with_one_folder_hides_no_other(workspace: Workspace, tmp_path: Path) -> None:
    base = tmp_path / "home/.clawft/plugins"
    add(base / "good")
    (base / "empty").mkdir()
    write(base / "broken/clawft.plugin.json", "{")
    write(base / "huge/clawft.plugin.json", '{"x": "' + "y" * 600_000 + '"}')
    (base / "folder/clawft.plugin.json").mkdir(parents=True)
    (base / "linked").mkdir()
    (base / "linked/clawft.plugin.json").symlink_to(base / "good/clawft.plugin.json")
    (base / "pipe").mkdir()
    os.mkfifo(base / "pipe/clawft.plugin.json")
    found = {os.path.basename(one.folder): one for one in load_plugins(plugin_folders(workspace, entry_points=False))}
    assert found.pop("good").manifest
    assert {name: problem(one) for name, one in found.items()} == {
        "broken": "plugin-manifest",
        "empty": "plugin-no-manifest",
        "folder": "not-a-file",
        "huge": "file-too-large",
        "linked": "is-a-link",
        "pipe": "not-a-file",
    }


def test_of_several_manifests_the_first_counts_and_that_is_said(tmp_path: Path) -> None:
    folder = add(tmp_path / "many")
    write(folder / "plugin.json", {"$schema": AGENT, "name": "agent"})
    write(folder / ".claude-plugin/plugin.json", {"name": "claude"})
    for expected, file in (("org.example.one", "clawft.plugin.json"), ("agent", "plugin.json"), ("claude", "")):
        found = load_plugin("user", str(folder))
        assert found.id == expected
        assert found.manifest is not None
        assert ("is not used" in str(found.manifest.diagnostics)) == bool(file)
        if file:
            (folder / file).unlink()


def test_a_plugin_json_of_another_program_stands_in_the_way_of_no_plugin_of_claudes(tmp_path: Path) -> None:
    write(tmp_path / "plugin.json", {"type": "panel"})
    assert problem(load_plugin("user", str(tmp_path))) == "plugin-manifest"
    write(tmp_path / ".claude-plugin/plugin.json", {"name": "helper"})
    found = load_plugin("user", str(tmp_path))
    assert found.id == "helper"
    assert found.manifest is not None
    assert "plugin.json beside it is not used" in found.manifest.diagnostics[0].message


def test_files_that_a_manifest_names_are_read_only_from_the_plugins_own_folder(tmp_path: Path) -> None:
    server = {"mcpServers": {"a": {"command": "x"}}}
    write(tmp_path / "out.json", server)
    folder = tmp_path / "plugin"
    (folder / "inner").mkdir(parents=True)
    (folder / "away").symlink_to(tmp_path)
    (folder / "link.json").symlink_to(tmp_path / "out.json")
    write(folder / "inner" / "in.json", server)
    for path, count in {"inner/in.json": 1, "away/out.json": 0, "link.json": 0, "../out.json": 0}.items():
        write(folder / ".claude-plugin/plugin.json", {"name": "helper", "mcpServers": f"./{path}"})
        manifest = load_plugin("user", str(folder)).manifest
        assert manifest is not None
        assert len(manifest.servers) == count, path
        assert bool(manifest.diagnostics) != bool(count)


def test_a_folder_as_claude_code_has_them_needs_no_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "receipts"
    write(folder / "skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\n")
    found = load_plugin("user", f"{folder}/")
    assert found.id == "receipts"
    assert found.manifest is not None
    assert found.manifest.dialect == "claude"
    assert "has no manifest" in found.manifest.diagnostics[0].message
    (tmp_path / "no name").mkdir()
    (tmp_path / "no name" / "skills").mkdir()
    assert problem(load_plugin("user", str(tmp_path / "no name"))) == "plugin-no-manifest"


def test_a_marketplace_is_told_from_a_plugin_and_its_plugins_are_named(tmp_path: Path) -> None:
    plugins = [{"name": "a", "source": "./plugins/a"}, {"name": "b", "source": "./gone"}]
    write(tmp_path / ".claude-plugin/marketplace.json", {"name": "m", "plugins": plugins})
    (tmp_path / "plugins/a").mkdir(parents=True)
    (tmp_path / "skills").mkdir()
    found = load_plugin("user", str(tmp_path))
    assert problem(found) == "plugin-marketplace"
    assert found.problem is not None
    assert f"weft plugins install {tmp_path}/plugins/a" in found.problem.hint
    write(tmp_path / ".claude-plugin/marketplace.json", {"plugins": [{"source": "./", "skills": ["./skills/x"]}]})
    (tmp_path / "skills/x").mkdir()
    found = load_plugin("user", str(tmp_path))
    assert found.problem is not None
    assert f"add {tmp_path}/skills to skills.load.extra_dirs" in found.problem.hint


def test_whether_there_are_any_is_told_without_reading_one(workspace: Workspace, tmp_path: Path) -> None:
    quiet = {"load": {"entry_points": False}}
    assert not has_plugins(workspace, lambda: quiet, None)
    assert has_plugins(workspace, lambda: {"load": {"extra_dirs": ["x"], "entry_points": False}}, None)
    write(tmp_path / "home/.clawft/plugins/.hidden", "")
    assert not has_plugins(workspace, lambda: quiet, None)
    (tmp_path / "project/.clawft/plugins/x").mkdir(parents=True)
    assert has_plugins(workspace, lambda: quiet, None)
