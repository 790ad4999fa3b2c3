"""File tools stay inside the project, and away from what is secret or gives power."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from clawft.agent.tools.file_access import reading_filter, resolve_inside, show_path
from clawft.agent.tools.tool import ToolContext, ToolError
from clawft.trust.protected_paths import is_private
from tool_contexts import adjust


def refused(context: ToolContext, path: str, *, write: bool = False) -> str:
    with pytest.raises(ToolError) as caught:
        resolve_inside(context, path, write=write)
    assert caught.value.error_code == "PERMISSION_DENIED"
    return str(caught.value)


def test_relative_path_starts_at_the_current_folder(context: ToolContext, project: Path) -> None:
    (project / "sub").mkdir()
    adjust(context, workspace=structs.replace(context.workspace, cwd=str(project / "sub")))
    assert resolve_inside(context, "a.txt") == str(project / "sub" / "a.txt")
    assert resolve_inside(context, "../a.txt") == str(project / "a.txt")
    assert show_path(context, str(project / "sub" / "a.txt")) == "a.txt"


def test_relative_path_starts_at_the_project_if_the_current_folder_is_outside(
    context: ToolContext, project: Path, tmp_path: Path
) -> None:
    adjust(context, workspace=structs.replace(context.workspace, cwd=str(tmp_path)))
    assert resolve_inside(context, "a.txt") == str(project / "a.txt")


def test_project_that_is_itself_a_link_is_fine(context: ToolContext, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    adjust(
        context,
        workspace=structs.replace(context.workspace, cwd=str(tmp_path / "link"), project=str(tmp_path / "link")),
    )
    assert resolve_inside(context, "a") == str(project / "a")
    assert resolve_inside(context, str(tmp_path / "link" / "a")) == str(project / "a")


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc/passwd", "~/x", "/", "~", "/proc/self/environ"])
@pytest.mark.parametrize("write", [False, True])
def test_outside_is_refused(context: ToolContext, path: str, write: bool) -> None:
    assert "is outside the project" in refused(context, path, write=write)


def test_folder_with_the_same_start_is_outside(context: ToolContext, project: Path) -> None:
    refused(context, f"{project}-other/x")


def test_link_that_leads_out_is_refused(context: ToolContext, project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (project / "out").symlink_to(tmp_path / "outside")
    (project / "chain").symlink_to("out")
    (project / "dangling").symlink_to(tmp_path / "not-yet")
    for path in ("out", "out/x", "chain/x", "dangling"):
        refused(context, path)
        refused(context, path, write=True)


def test_link_inside_leads_to_its_target(context: ToolContext, project: Path) -> None:
    (project / "real").mkdir()
    (project / "link").symlink_to("real")
    assert resolve_inside(context, "link/x", write=True) == str(project / "real" / "x")


def test_links_in_a_circle_are_refused(context: ToolContext, project: Path) -> None:
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    resolve_inside(context, "a")  # where it leads cannot be opened, but is inside
    (project / "x").symlink_to("/" + "y/" * 50)
    refused(context, "x")


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "x" * 300, "a/" * 3000, "a\ud800"])
def test_path_that_no_file_has_is_a_wrong_parameter(context: ToolContext, path: str) -> None:
    with pytest.raises(ToolError) as caught:
        resolve_inside(context, path)
    assert caught.value.error_code == "INVALID_PARAM"


def test_spill_folder_and_folders_of_skills_may_be_read_only(context: ToolContext, tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    adjust(context, read_roots=(str(skill),))
    assert resolve_inside(context, str(skill / "ref.md")) == str(skill / "ref.md")
    assert resolve_inside(context, f"{context.files.spill_dir}/x.txt") == f"{context.files.spill_dir}/x.txt"
    refused(context, str(skill / "ref.md"), write=True)
    refused(context, f"{context.files.spill_dir}/x.txt", write=True)


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        "sub/.git",
        ".GIT/config",
        ".g\u200cit/config",
        ".clawft/config.toml",
        ".claude/settings.json",
        ".agents/skills/x/SKILL.md",
        ".github/workflows/ci.yml",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        "AGENTS.md",
        "sub/claude.md",
        ".mcp.json",
        ".envrc",
        ".bashrc",
        ".zshenv",
        ".pre-commit-config.yaml",
    ],
)
def test_what_gives_power_is_not_written(context: ToolContext, path: str) -> None:
    assert "steers programs or agents" in refused(context, path, write=True)
    resolve_inside(context, path)


def test_link_to_or_from_a_place_of_power_is_not_written(context: ToolContext, project: Path) -> None:
    (project / ".git").mkdir()
    (project / "innocent").symlink_to(".git")
    (project / "notes.md").touch()
    (project / "AGENTS.md").symlink_to("notes.md")
    refused(context, "innocent/config", write=True)
    refused(context, "AGENTS.md", write=True)


def test_a_repository_under_another_name_is_not_written(context: ToolContext, project: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", project / ".bare"], check=True)
    (project / ".git").write_text("gitdir: ./.bare\n")
    for path in (".bare/config", ".bare/hooks/pre-commit", ".bare/new/deep/file"):
        assert "steers programs or agents" in refused(context, path, write=True)
    with (project / ".bare/config").open("a") as config:
        config.write('[remote "origin"]\nurl = https://token@example.com/a.git\n')
    assert "keys and passwords" in refused(context, ".bare/config")


@pytest.mark.parametrize("path", [".gitignore", ".gitattributes", "skills/x/SKILL.md", "src/agents.py", "git/config"])
def test_ordinary_names_may_be_written(context: ToolContext, path: str) -> None:
    resolve_inside(context, path, write=True)


@pytest.mark.parametrize("path", [".env", ".env.local", "sub/.ssh/id_ed25519", "id_rsa", ".aws/credentials", ".Netrc"])
def test_places_for_keys_are_left_alone(context: ToolContext, path: str) -> None:
    assert "keys and passwords" in refused(context, path)
    refused(context, path, write=True)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a/b/c/d/e/server.key", "-----BEGIN RSA PRIVATE KEY-----\n"),
        ("bundle.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n"),
        ("deploy_key", "-----BEGIN OPENSSH PRIVATE KEY-----\n"),
        (".git/config", '[remote "origin"]\nurl = https://token@example.com/a.git\n'),
        ("sub/.git/modules/x/config", "[http]\nextraheader = Authorization: basic x\n"),
    ],
)
def test_private_keys_and_tokens_are_told_by_what_a_file_holds(
    context: ToolContext, project: Path, path: str, text: str
) -> None:
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text("nothing")
    resolve_inside(context, path)
    (project / path).write_text(text)
    assert "keys and passwords" in refused(context, path)
    (project / "link").symlink_to(path)
    refused(context, "link")
    assert not reading_filter(context, str(project))(str(project / path))


def test_examples_of_settings_are_no_secret() -> None:
    assert not is_private(".env.example")
    assert not is_private("environment.py")
    assert is_private(".config/gcloud/credentials.db")
    assert not is_private("src/gcloud/client.py")


def test_link_to_a_secret_is_refused(context: ToolContext, project: Path) -> None:
    (project / ".env").write_text("KEY=1")
    (project / "plain").symlink_to(".env")
    refused(context, "plain")


def test_settings_of_the_program_are_refused_when_home_is_the_project(context: ToolContext) -> None:
    home = context.workspace.home
    adjust(context, workspace=structs.replace(context.workspace, project=home, cwd=home))
    assert "own settings" in refused(context, ".clawft/config.toml")
    assert resolve_inside(context, "notes.txt") == os.path.join(os.path.realpath(home), "notes.txt")


def test_system_files_are_refused_when_the_root_is_the_project(context: ToolContext) -> None:
    adjust(context, workspace=structs.replace(context.workspace, project="/", cwd="/"))
    assert "belongs to the system" in refused(context, "/proc/self/environ")
    refused(context, "/dev/zero")
    assert resolve_inside(context, "/etc/hostname")
