"""What a plugin brings, in every dialect; what leads out of its folder is no part of it, and that is said."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from clawft.skills.discovery.plugin_folders import PluginPlaces, load_places
from clawft.skills.discovery.plugins import PluginContents, load_contents, load_plugin, skill_places
from clawft.workspace import Workspace

AGENT = {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "agent"}
LIMIT = 100_000


def write(path: Path, text: str | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def skill(folder: Path, name: str = "", head: str = "description: d\n") -> Path:
    return write(folder / "SKILL.md", f"---\nname: {name or folder.name}\n{head}---\n\nDo it.\n").parent


def load(folder: Path) -> PluginContents:
    found = load_plugin("user", str(folder))
    assert found.manifest is not None, found.problem
    return load_contents(found, LIMIT)


def said(contents: PluginContents) -> str:
    return "\n".join(f"{one.code}: {one.message}" for one in contents.diagnostics)


def test_all_that_a_plugin_of_claudes_brings_is_found(tmp_path: Path) -> None:
    write(tmp_path / ".claude-plugin/plugin.json", {"name": "all", "agents": ["./agents", "./lone.md"]})
    skill(tmp_path / "skills/deep/inner")
    write(tmp_path / "commands/group/go.md", "---\ndescription: d\n---\n\nGo.\n")
    for name in ("agents/one.md", "lone.md"):
        write(tmp_path / name, "---\ndescription: d\n---\n\nBe.\n")
    write(tmp_path / "hooks/hooks.json", {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}})
    write(tmp_path / "hooks/deno/HOOK.md", '---\nname: deno\nmetadata: {"openclaw": {"events": ["message"]}}\n---\n')
    write(tmp_path / "hooks/deno/handler.js", "export default () => {}\n")
    write(tmp_path / ".mcp.json", {"main": {"command": "x"}})
    write(tmp_path / ".lsp.json", {})
    contents = load(tmp_path)
    assert [one.name for one in contents.skills] == ["inner"]
    assert [one.name for one in contents.commands] == ["group-go"]
    assert [(one.name, one.plugin) for one in contents.agents] == [("one", "all"), ("lone", "all")]
    assert [(one.name, one.layer) for one in contents.hooks] == [("deno", "all")]
    assert [(one.name, one.events) for one in contents.command_hooks] == [("plugin:all", ("Stop",))]
    assert [one.name for one in contents.servers] == ["main"]
    assert said(contents) == "plugin-unused: It has language servers, which are of Claude Code and are not used here"


def test_a_command_that_is_named_by_its_file_comes_alone(tmp_path: Path) -> None:
    write(tmp_path / ".claude-plugin/plugin.json", {"name": "one", "commands": ["./tools/this.md"]})
    for name in ("this", "that"):
        write(tmp_path / "tools" / f"{name}.md", f"---\ndescription: d\n---\n\nDo {name}.\n")
    contents = load(tmp_path)
    assert [(one.name, one.problem) for one in contents.commands] == [("this", None)]


def test_hooks_stand_in_the_manifest_or_in_the_files_that_it_names(tmp_path: Path) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    write(tmp_path / ".claude-plugin/plugin.json", {"name": "one", "hooks": hooks})
    (found,) = load(tmp_path).command_hooks
    assert (found.name, found.file) == ("plugin:one", f"{tmp_path}/.claude-plugin/plugin.json")
    write(tmp_path / ".claude-plugin/plugin.json", {"name": "one", "hooks": ["./a.json", "./b.json", "./gone.json"]})
    for name in ("a", "b"):
        write(tmp_path / f"{name}.json", {"hooks": hooks})
    contents = load(tmp_path)
    assert [one.name for one in contents.command_hooks] == ["plugin:one", "plugin:one:b"]
    assert "There is no 'gone.json'" in said(contents)


def test_a_plugin_of_claudes_may_be_one_skill(tmp_path: Path) -> None:
    write(tmp_path / "solo/.claude-plugin/plugin.json", {"name": "solo"})
    skill(tmp_path / "solo")
    assert [one.name for one in load(tmp_path / "solo").skills] == ["solo"]
    skill(tmp_path / "solo/skills/other")
    assert [one.name for one in load(tmp_path / "solo").skills] == ["other"]


def test_agent_plugins_has_skills_right_in_its_folder_and_only_those_that_conform(tmp_path: Path) -> None:
    write(tmp_path / "plugin.json", AGENT)
    skill(tmp_path / "skills/fine")
    skill(tmp_path / "skills/deep/inner")
    skill(tmp_path / "skills/other", "another")
    skill(tmp_path / "skills/silent", head="")
    write(tmp_path / "skills/bare/SKILL.md", "Just text.\n")
    write(tmp_path / "skills/lower/skill.md", "---\nname: lower\ndescription: d\n---\n")
    for name in ("commands/x.md", "hooks/hooks.json", "agents/x.md"):
        write(tmp_path / name, "{}")
    contents = load(tmp_path)
    states = {os.path.basename(one.folder): one.problem.code if one.problem else "" for one in contents.skills}
    assert states.pop("fine") == ""
    assert states == dict.fromkeys(("bare", "other", "silent"), "skill-nonconforming")
    assert (contents.commands, contents.agents, contents.hooks, contents.command_hooks) == ((), (), (), ())
    assert said(contents).count("is no part of Agent Plugins") == 3


@pytest.mark.parametrize("manifest", ["ours", "claude", "agent"])
def test_what_leads_out_of_the_plugins_folder_is_no_part_of_it(tmp_path: Path, manifest: str) -> None:
    skill(tmp_path / "secret/stolen")
    write(tmp_path / "secret/agent.md", "---\ndescription: d\n---\n\nBe.\n")
    write(tmp_path / "secret/hooks.json", {"hooks": {"Stop": []}})
    plugin = tmp_path / "plugin"
    ours = {"id": "org.example.one", "name": "One", "version": "1.0.0", "capabilities": ["skill"]}
    files: dict[str, tuple[str, dict[str, Any]]] = {
        "ours": ("clawft.plugin.json", {**ours, "skill_dirs": ["skills", "away"]}),
        "claude": (".claude-plugin/plugin.json", {"name": "x", "skills": "./away", "agents": "./away/agent.md"}),
        "agent": ("plugin.json", AGENT),
    }
    write(plugin / files[manifest][0], files[manifest][1])
    (plugin / "skills").mkdir()
    (plugin / "away").symlink_to(tmp_path / "secret")
    (plugin / "hooks").symlink_to(tmp_path / "secret")
    (plugin / "skills" / "stolen").symlink_to(tmp_path / "secret" / "stolen")
    contents = load(plugin)
    assert [one for one in contents.skills if one.skill] == []
    assert (contents.agents, contents.command_hooks) == ((), ())
    if manifest != "agent":
        assert "away' is a link" in said(contents)


def test_where_they_have_things_is_told_anew_when_a_manifest_or_a_grant_or_a_setting_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    workspace = Workspace(str(home), str(home / ".clawft"), str(tmp_path), str(tmp_path))
    plugin, cache = home / ".clawft/plugins/one", str(tmp_path / "cache")
    manifest = write(plugin / ".claude-plugin/plugin.json", {"name": "one"})
    skill(plugin / "skills/a")
    asked: list[int] = []

    def find() -> PluginPlaces:
        asked.append(1)
        return PluginPlaces(tuple(skill_places(load_plugin("user", str(plugin)))))

    def count(said: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> int:
        asked.clear()
        places = load_places(workspace, said or {"load": {"entry_points": False}}, environ or {}, cache, find)
        assert places.skills == tuple(skill_places(load_plugin("user", str(plugin))))
        return len(asked)

    assert count() == 1
    assert count() == 1  # what changed just now is not relied upon
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 3600 * 10**9)
    assert [count(), count()] == [1, 0]
    write(manifest, {"name": "one", "skills": "./more"})
    assert count() == 1
    write(home / ".clawft/grants.json", "[]")
    assert count() == 1
    assert count({"enabled": False}) == 1
    assert count({"entries": {"one": {"config": {"key": "${KEY}"}}}}, {"KEY": "a"}) == 1
    assert count() == 1
    write(tmp_path / "cache" / "plugins.msgpack", "damaged")
    assert [count(), count()] == [1, 0]
    assert load_places(workspace, {}, {}, None, find).skills
    write(plugin / "plugin.json", AGENT)
    (plugin / "skills/b").mkdir()
    assert [count(), count()] == [1, 0]
    skill(plugin / "skills/b")
    assert count() == 1
