"""The precedence table: which folders are searched, in which order, and whose they are."""

import re
from pathlib import Path

import pytest

from clawft.config import LoadSettings, SkillsSettings
from clawft.skills.discovery import Location, agent_locations, explicit_locations, load_catalog, skill_locations
from clawft.workspace import Workspace, find_workspace

LIMIT = 32 * 1024
CLIENTS = (".codex", ".gemini", ".opencode", ".cursor", ".github", ".goose")
PROJECT = (".clawft/skills", ".agents/skills", ".claude/skills", "skills", ".skills")
USER = (
    ".clawft/skills",
    ".clawft/workspace/skills",
    ".agents/skills",
    ".claude/skills",
    ".openclaw/skills",
    ".omniagent/skills",
    ".wundr/skills",
)
ROWS = [
    *(("project", folder) for folder in PROJECT),
    *(("project", f"{client}/skills") for client in CLIENTS),
    *(("user", folder) for folder in USER),
    *(("user", f"{client}/skills") for client in CLIENTS),
]


def _workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".clawft").mkdir(parents=True)
    return find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path / "project"))


def _write(folder: Path, description: str = "A skill.") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n---\n\nDo it.\n")


@pytest.mark.parametrize(("scope", "folder"), ROWS, ids=[f"{scope}-{folder}" for scope, folder in ROWS])
def test_each_row_of_the_table_is_searched(tmp_path: Path, scope: str, folder: str) -> None:
    workspace = _workspace(tmp_path)
    base = tmp_path / ("project" if scope == "project" else "home")
    _write(base / folder / "only-here")

    catalog = load_catalog(skill_locations(workspace, SkillsSettings()), max_prompt_bytes=LIMIT)

    found = [one for one in catalog.found if one.location.scope != "bundled"]
    assert [(one.name, one.location.scope, one.location.layer) for one in found] == [("only-here", scope, folder)]
    assert found[0].folder == str(base / folder / "only-here")


def test_rows_come_in_the_order_of_the_table(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    for scope, folder in ROWS:
        base = tmp_path / ("project" if scope == "project" else "home")
        _write(base / folder / "same", f"{scope} {folder}")

    catalog = load_catalog(skill_locations(workspace, SkillsSettings()), max_prompt_bytes=LIMIT)

    descriptions = [one.skill.description for one in catalog.found if one.skill and one.name == "same"]
    assert descriptions == [f"{scope} {folder}" for scope, folder in ROWS]


def test_the_page_about_skills_lists_the_folders_in_their_order() -> None:
    page = (Path(__file__).parents[3] / "docs" / "skills.md").read_text("utf-8")
    rows = [row.split("|") for row in page.split("\n") if row.startswith("| ")][1:]
    folders = [(row[2].strip(), folder) for row in rows for folder in re.findall(r"`([^`]+)`", row[3])]
    home = [(scope, folder.removeprefix("~/")) for scope, folder in folders if scope in ("project", "user")]
    commands = [("project", ".claude/commands"), ("user", ".claude/commands")]
    assert home == [*ROWS, *commands]


def test_plugin_then_bundled_then_extra_come_after_the_user(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    settings = SkillsSettings(load=LoadSettings(extra_dirs=(str(tmp_path / "more"),)))

    locations = skill_locations(
        workspace, settings, [Location("plugin", "com.example.tools", str(tmp_path / "plugin"))]
    )

    scopes = list(dict.fromkeys(one.scope for one in locations))
    assert scopes == ["project", "user", "plugin", "bundled", "extra"]
    assert [one.path for one in locations if one.scope == "plugin"] == [str(tmp_path / "plugin")]
    assert locations[-1] == Location("extra", str(tmp_path / "more"), str(tmp_path / "more"))


def test_bundled_skills_are_there_with_nothing_else(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)

    catalog = load_catalog(skill_locations(workspace, SkillsSettings()), max_prompt_bytes=LIMIT)

    assert catalog.found
    assert {one.location.scope for one in catalog.found} == {"bundled"}
    assert all(one.skill is not None and one.skill.diagnostics == () for one in catalog.found)
    assert catalog.diagnostics == ()


def test_extra_dirs_may_start_at_home_or_at_the_project(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    settings = SkillsSettings(load=LoadSettings(extra_dirs=("~/mine", "vendor/../vendor/skills", "~", "~other")))

    paths = [one.path for one in skill_locations(workspace, settings) if one.scope == "extra"]

    home, project = str(tmp_path / "home"), str(tmp_path / "project")
    assert paths == [f"{home}/mine", f"{project}/vendor/skills", home, f"{project}/~other"]


def test_config_decides_which_other_clients_are_read(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    settings = SkillsSettings(load=LoadSettings(clients=(".vibe",)))

    layers = [one.layer for one in skill_locations(workspace, settings) if one.scope == "project"]

    assert layers == [*PROJECT, ".vibe/skills", ".claude/commands"]


def test_clawft_home_moves_the_user_folder_and_only_that(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home"), "CLAWFT_HOME": str(tmp_path / "moved")}
    workspace = find_workspace(environ, str(tmp_path))

    user = {one.layer: one.path for one in skill_locations(workspace, SkillsSettings()) if one.scope == "user"}

    assert user[".clawft/skills"] == str(tmp_path / "moved" / "skills")
    assert user[".clawft/workspace/skills"] == str(tmp_path / "moved" / "workspace" / "skills")
    assert user[".claude/skills"] == str(tmp_path / "home" / ".claude" / "skills")
    agents = {one.layer: one.path for one in agent_locations(workspace) if one.scope == "user"}
    assert agents[".clawft/agents"] == str(tmp_path / "moved" / "agents")


def test_project_is_the_nearest_parent_with_a_clawft_folder(tmp_path: Path) -> None:
    (tmp_path / "outer" / ".clawft").mkdir(parents=True)
    (tmp_path / "outer" / "inner" / ".clawft").mkdir(parents=True)
    deep = tmp_path / "outer" / "inner" / "src" / "deep"
    deep.mkdir(parents=True)

    workspace = find_workspace({"HOME": str(tmp_path / "home")}, str(deep))

    assert workspace.project == str(tmp_path / "outer" / "inner")
    assert workspace.marked


def test_without_a_mark_the_current_folder_is_the_project_and_git_marks_nothing(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()

    workspace = find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path / "repo" / "src"))

    assert workspace.project == str(tmp_path / "repo" / "src")
    assert not workspace.marked


def test_a_file_named_like_the_mark_marks_nothing(tmp_path: Path) -> None:
    (tmp_path / "repo" / "src").mkdir(parents=True)
    (tmp_path / "repo" / ".clawft").write_text("not a folder")

    assert not find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path / "repo" / "src")).marked


@pytest.mark.parametrize("absolute", [True, False])
def test_clawft_project_names_the_project(tmp_path: Path, absolute: bool) -> None:
    (tmp_path / "here" / ".clawft").mkdir(parents=True)
    named = str(tmp_path / "there") if absolute else "../there"

    workspace = find_workspace({"HOME": str(tmp_path / "home"), "CLAWFT_PROJECT": named}, str(tmp_path / "here"))

    assert workspace.project == str(tmp_path / "there")
    assert workspace.marked


def test_empty_variables_count_as_absent(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home"), "CLAWFT_HOME": "", "CLAWFT_PROJECT": ""}

    workspace = find_workspace(environ, str(tmp_path / "work"))

    assert workspace.user_dir == str(tmp_path / "home" / ".clawft")
    assert workspace.project == str(tmp_path / "work")


def test_the_user_folder_marks_no_project(tmp_path: Path) -> None:
    (tmp_path / "home" / ".clawft").mkdir(parents=True)
    (tmp_path / "home" / "work").mkdir()

    workspace = find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path / "home" / "work"))

    assert workspace.project == str(tmp_path / "home" / "work")
    assert not workspace.marked


def test_in_the_home_folder_its_skills_are_the_users_and_are_found_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    _write(home / ".clawft" / "skills" / "mine")
    _write(home / ".claude" / "skills" / "yours")
    _write(home / "skills" / "loose")
    workspace = find_workspace({"HOME": str(home)}, str(home))

    catalog = load_catalog(skill_locations(workspace, SkillsSettings()), max_prompt_bytes=LIMIT)

    scopes = sorted((one.name, one.location.scope) for one in catalog.found if one.location.scope != "bundled")
    assert scopes == [("loose", "project"), ("mine", "user"), ("yours", "user")]


def test_a_folder_that_two_rows_lead_to_is_searched_once(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    _write(tmp_path / "project" / ".agents" / "skills" / "shared")
    (tmp_path / "project" / ".claude").mkdir()
    (tmp_path / "project" / ".claude" / "skills").symlink_to("../.agents/skills")

    catalog = load_catalog(skill_locations(workspace, SkillsSettings()), max_prompt_bytes=LIMIT)

    layers = [one.location.layer for one in catalog.found if one.name == "shared"]
    assert layers == [".agents/skills"]


def test_named_folders_are_taken_from_the_current_folder_each_once(tmp_path: Path) -> None:
    workspace = find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path))
    (tmp_path / "a").mkdir()

    locations = explicit_locations(["a", "./a/", str(tmp_path / "a"), "~/b"], workspace)

    assert [(one.scope, one.path) for one in locations] == [
        ("dir", str(tmp_path / "a")),
        ("dir", str(tmp_path / "home" / "b")),
    ]


def test_agents_are_looked_for_in_the_project_then_at_the_user(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)

    rows = [(one.scope, one.layer) for one in agent_locations(workspace)]

    assert rows == [
        ("project", ".clawft/agents"),
        ("project", ".claude/agents"),
        ("user", ".clawft/agents"),
        ("user", ".claude/agents"),
    ]


def test_paths_are_shown_as_people_write_them(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)

    assert workspace.shorten(str(tmp_path / "project" / "skills" / "a")) == "skills/a"
    assert workspace.shorten(str(tmp_path / "project")) == "."
    assert workspace.shorten(str(tmp_path / "home" / ".clawft")) == "~/.clawft"
    assert workspace.shorten("/elsewhere/a") == "/elsewhere/a"
    assert workspace.shorten(str(tmp_path / "project-two")) == str(tmp_path / "project-two")
