"""What stays closed inside a project that a program may change: power is read-only, secrets are hidden."""

import os
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import structs

from clawft.errors import ClawftError
from clawft.sandbox.confinement import Confinement

pytestmark = pytest.mark.anyio
Box = Any
AGENT_FOLDERS = (".git", ".clawft", ".claude", ".agents")


@pytest.mark.parametrize(
    "name", [".git/hooks/post-commit", ".claude/settings.json", ".clawft/config.toml", ".agents/a"]
)
async def test_what_gives_power_is_read_and_not_changed(box: Box, name: str) -> None:
    path = box.project / name
    path.parent.mkdir(parents=True)
    path.write_text("old")
    folder = name.split("/")[0]
    said = await box.say(f"cat {name}; echo new > {name}; echo new > {folder}/made; rm -rf {folder}; mv {folder} moved")
    assert said.startswith("old")
    assert path.read_text() == "old"
    assert sorted(os.listdir(box.project)) == [folder]
    assert not (box.project / folder / "made").exists()


@pytest.mark.parametrize(
    "name", ["AGENTS.md", "CLAUDE.md", ".envrc", ".mcp.json", ".pre-commit-config.yaml", ".bashrc"]
)
async def test_files_that_steer_programs_or_agents_are_read_only(box: Box, name: str) -> None:
    (box.project / name).write_text("old")
    await box.run(f"echo new >> {name}; rm -f {name}; ln -sf x {name}")
    assert (box.project / name).read_text() == "old"


@pytest.mark.parametrize("name", AGENT_FOLDERS)
async def test_an_agents_folder_cannot_be_made(box: Box, name: str) -> None:
    await box.run(f"mkdir -p {name}/hooks; echo x > {name}/hooks/a; rmdir {name}; ln -s /tmp {name}; echo x > {name}")
    await box.run(f"git init -q . ; mkdir {name}x; mv {name}x {name}")
    assert not os.path.lexists(box.project / name)


async def test_placeholders_are_gone_after_runs_side_by_side(wrapped: Box) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(wrapped.run, f"sleep 0.{number}; mkdir .git/x; touch made{number}")
    assert sorted(os.listdir(wrapped.project)) == [f"made{number}" for number in range(6)]


async def test_what_a_killed_run_left_is_taken_over_and_removed(wrapped: Box) -> None:
    for name in (".git", ".agents"):
        (wrapped.project / name).mkdir()
        (wrapped.project / name).chmod(0o1755)
    (wrapped.project / ".claude").mkdir()
    await wrapped.run("mkdir .git/hooks .claude/skills")
    assert sorted(os.listdir(wrapped.project)) == [".claude"]  # which somebody made, and wants
    assert os.listdir(wrapped.project / ".claude") == []


async def test_a_repository_made_meanwhile_by_the_person_stays(wrapped: Box) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wrapped.run, "touch started; while [ -e started ]; do sleep 0.01; done")
        with anyio.fail_after(60):
            while not (wrapped.project / "started").exists():
                await anyio.lowlevel.checkpoint()
        (wrapped.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (wrapped.project / "started").unlink()
    assert (wrapped.project / ".git" / "HEAD").exists()
    assert (wrapped.project / ".git").stat().st_mode & 0o7777 == 0o755


async def test_nested_repositories_are_read_only_too(box: Box) -> None:
    for place in ("sub/.git", "one/two/.git", "agent/.claude"):
        (box.project / place).mkdir(parents=True)
        (box.project / place / "config").write_text("old")
    (box.project / "module").mkdir()
    (box.project / "module/.git").write_text("gitdir: ../.git/modules/module\n")
    for place in ("sub/.git/config", "one/two/.git/config", "agent/.claude/config", "module/.git"):
        await box.run(f"echo new > {place}; rm -f {place}")
        assert (box.project / place).read_text() != "new\n"
        assert (box.project / place).exists()


@pytest.mark.parametrize("linked", [False, True], ids=["file", "link"])
async def test_a_repository_under_another_name_is_read_only_and_its_tokens_hidden(box: Box, *, linked: bool) -> None:
    subprocess.run(["git", "init", "-q", "--bare", box.project / "sub/.bare"], check=True)
    subprocess.run(["git", "init", "-q", "--bare", box.project / ".bare"], check=True)
    for folder in (box.project, box.project / "sub"):
        if linked:
            (folder / ".git").symlink_to(".bare")
        else:
            (folder / ".git").write_text("gitdir: ./.bare\n")
        with (folder / ".bare/config").open("a") as config:
            config.write('[remote "origin"]\n\turl = https://t0ken@example.com/a.git\n')
    plant = "echo x > {0}/hooks/pre-commit; git config -f {0}/config core.fsmonitor ./x; cat {0}/config; mv {0} moved;"
    said = await box.say(plant.format(".bare") + plant.format("sub/.bare"))
    assert "t0ken" not in said
    for git_dir in (box.project / ".bare", box.project / "sub/.bare"):
        assert not (git_dir / "hooks/pre-commit").exists()
        assert "fsmonitor" not in (git_dir / "config").read_text()


@pytest.mark.parametrize("mode", ["311", "444", "000"])
async def test_a_project_that_a_command_made_unlistable_gives_no_secret_away(box: Box, mode: str) -> None:
    (box.project / ".env").write_text("s3cret")
    (box.project / "AGENTS.md").write_text("old")
    try:
        said = await box.say(f"chmod {mode} .") + await box.say("chmod 755 .; cat .env; echo new > AGENTS.md")
    except ClawftError as error:  # what root may list, it may list whatever its rights
        said = error.code
    box.project.chmod(0o755)
    assert "s3cret" not in said
    assert (box.project / "AGENTS.md").read_text() == "old"
    assert said == "sandbox-unread" or os.geteuid() == 0


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "id_rsa",
        ".ssh/id",
        "sub/.env",
        "sub/deep/.npmrc",
        ".aws/credentials",
        "home/.config/gh/hosts.yml",
    ],
)
async def test_secrets_of_the_project_cannot_be_read(box: Box, name: str) -> None:
    path = box.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("s3cret")
    (box.project / "link").symlink_to(name)
    (box.project / "other").mkdir()
    said = await box.say(
        f"cat {name} link; ln {name} other/copy; cat other/copy; mv sub moved; cat moved/.env; grep -r s3 ."
    )
    assert "s3cret" not in said
    assert any(path.read_text() == "s3cret" for path in box.project.rglob(path.name) if path.is_file())


async def test_an_example_of_a_secret_is_read(box: Box) -> None:
    (box.project / ".env.example").write_text("KEY=")
    assert await box.say("cat .env.example") == "KEY="


async def test_a_home_folder_as_project_keeps_its_rc_files_and_gets_no_new_ones(box: Box) -> None:
    (box.home / ".bashrc").write_text("old")
    (box.home / "work").mkdir()
    (box.user_dir / "trust.key").write_text("s3cret")
    granted = Confinement(writable=(str(box.home), str(box.project)))
    rights = "echo x > .bashrc; echo x > .bash_profile; mkdir .git; echo ok > work/made"
    said = await box.say(f"cd {box.home}; {rights}; cat .clawft/trust.key; rm -rf .clawft", granted)
    assert "s3cret" not in said
    assert (box.home / ".bashrc").read_text() == "old"
    assert (box.home / "work/made").read_text() == "ok\n"
    assert sorted(os.listdir(box.home)) == [".bashrc", ".clawft", "work"]
    assert (box.user_dir / "trust.key").exists()


async def test_a_link_in_the_place_of_a_repository_cannot_be_replaced(box: Box) -> None:
    (box.project / "real").mkdir()
    (box.project / "real/config").write_text("old")
    (box.project / ".git").symlink_to("real")
    await box.run("rm .git; mkdir .git; echo x > .git/config")
    assert os.readlink(box.project / ".git") == "real"


async def test_git_works_in_a_worktree_of_a_repository_elsewhere(box: Box) -> None:
    def git(*words: str, cwd: Path) -> None:
        subprocess.run(("git", *words), cwd=cwd, check=True, capture_output=True, timeout=60)

    main = box.folder / "main"
    main.mkdir()
    git("init", "-q", cwd=main)
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first", cwd=main)
    box.project.rmdir()
    git("worktree", "add", "-q", str(box.project), cwd=main)
    assert "first" in await box.say("git log --oneline")
    (box.folder / "secret").mkdir()
    (box.folder / "secret/HEAD").write_text("s3cret")
    (box.project / ".git").write_text(f"gitdir: {box.folder}/secret\n")
    assert "s3cret" not in await box.say(f"cat {box.folder}/secret/HEAD")


async def test_a_project_behind_a_link_is_found_under_both_names(wrapped: Box, tmp_path: Path) -> None:
    (tmp_path / "known").symlink_to(wrapped.project)

    wrapped.workspace = structs.replace(wrapped.workspace, project=str(tmp_path / "known"))
    (wrapped.project / "file").write_text("found")
    done = await wrapped.run(f"cat {tmp_path}/known/file", sandbox=wrapped.open())
    assert done.output == b"found"


async def test_secrets_of_a_home_that_was_granted_as_a_whole_stay_hidden(box: Box) -> None:
    for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".clawft/trust.key"):
        (box.home / name).parent.mkdir(exist_ok=True)
        (box.home / name).write_text("s3cret")
    (box.home / "notes").write_text("open")
    line = f"cd {box.home}; cat notes .netrc .ssh/id_ed25519 .aws/credentials .clawft/trust.key"
    said = await box.run(line, sandbox=box.open(readable=("~",)))
    assert said.output.startswith(b"open")
    assert b"s3cret" not in said.output
