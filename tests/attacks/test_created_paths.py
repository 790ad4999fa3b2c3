"""Attacks with what was not there before: repositories and protected files that a command makes in the project."""

import os
import subprocess
from pathlib import Path

import pytest

from git_worlds import GitWorld

pytestmark = pytest.mark.anyio

_PRELUDE = """
trap=$PWD/trap
setting() { printf "[core]\\n\\tfsmonitor = %s\\n" "$trap"; }
"""


@pytest.fixture
def world(tmp_path: Path) -> GitWorld:
    world = GitWorld(tmp_path)
    if world.sandbox.status().kind != "bubblewrap":
        pytest.skip(f"there is no bubblewrap here: {world.sandbox.status().reason}")
    trap = world.project / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    world.answer = False
    return world


REPOSITORIES = {
    "nested": "git init -q sub; setting >> sub/.git/config",
    "nested-hooks": """
        git init -q sub; cp trap sub/.git/hooks/post-checkout; cp trap sub/.git/hooks/reference-transaction""",
    "nested-include": "git init -q sub; setting > sub/more; git -C sub config include.path ../more",
    "nested-worktree-config": """
        git init -q sub; git -C sub config extensions.worktreeConfig true; setting > sub/.git/config.worktree""",
    "nested-commondir": """
        git init -q sub; git init -q evil; setting >> evil/.git/config; echo ../../evil/.git > sub/.git/commondir""",
    "nested-attributes": """
        git init -q sub; git -C sub config filter.x.clean $trap; echo "* filter=x" > sub/.git/info/attributes
        echo x > sub/x""",
    "gitlink": """
        git init -q sub; git -C sub commit -q --allow-empty -m x; setting >> sub/.git/config
        git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub""",
    "deep": "mkdir -p one/two/three; git init -q one/two/three/sub; setting >> one/two/three/sub/.git/config",
    "other-name": """
        git init -q --bare sub; setting >> sub/config
        git config -f sub/config core.bare false; git config -f sub/config core.worktree ..""",
    "other-name-file": "git init -q --bare evil; setting >> evil/config; mkdir sub; echo 'gitdir: ../evil' > sub/.git",
    "file": "git init -q evil; setting >> evil/.git/config; mkdir sub; echo 'gitdir: ../evil/.git' > sub/.git",
    "file-elsewhere": "git init -q --separate-git-dir evil sub; setting >> evil/config",
    "file-to-a-work-tree": """
        git worktree add -q sub; cp -r .git evil; setting >> evil/config
        echo "gitdir: $PWD/evil/worktrees/sub" > sub/.git""",
    "link": "git init -q evil; setting >> evil/.git/config; mkdir sub; ln -s ../evil/.git sub/.git",
    "common-folder": """
        mkdir sub; git init -q --bare evil; rm evil/HEAD; git config -f evil/config remote.o.url .
        git config -f evil/config remote.o.uploadpack "$trap </dev/null;"
        echo 'ref: refs/heads/main' > sub/HEAD; echo ../evil > sub/commondir""",
    "linked-inside": "git init -q sub; rm sub/.git/config; setting > more; ln -s ../../more sub/.git/config",
    "capitals": "git init -q sub; setting >> sub/.git/config; mv sub/.git sub/.GIT; ln -s .GIT sub/.git",
    "in-a-protected-folder": "mkdir -p sub/.claude; git init -q sub/.claude/x; setting >> sub/.claude/x/.git/config",
    "copied": "cp -r .git sub-git; mkdir sub; mv sub-git sub/.git; setting >> sub/.git/config",
    "closed": "git init -q sub; setting >> sub/.git/config; chmod 500 sub/.git",
}  # fmt: skip


def list_folders(root: Path) -> list[Path]:
    return [Path(where) for where, _, _ in os.walk(root) if ".git" not in Path(where).parts and where != str(root)]


@pytest.mark.parametrize("kind", REPOSITORIES)
async def test_a_repository_that_a_command_made_starts_nothing(world: GitWorld, kind: str) -> None:
    done = await world.run(_PRELUDE + REPOSITORIES[kind])
    assert done.held_back, done.output
    world.work_on(*list_folders(world.project))
    assert not (world.folder / "sprung").exists(), done.held_back


@pytest.mark.parametrize("kind", ["nested", "file", "other-name", "link", "common-folder"])
async def test_these_repositories_would_start_programs_as_they_were_made(world: GitWorld, kind: str) -> None:
    subprocess.run(["sh", "-c", _PRELUDE + REPOSITORIES[kind]], cwd=world.project, env=world.env, check=True)
    world.work_on(*list_folders(world.project))
    assert (world.folder / "sprung").exists()


async def test_a_harmless_repository_that_a_command_made_is_used_as_it_is(world: GitWorld) -> None:
    await world.do("git init -q sub; cd sub; echo x > x; git add x; git commit -qm inner; git branch topic")
    assert world.git("log", "--format=%s", cwd=world.project / "sub") == "inner"
    assert world.git("status", "--porcelain", cwd=world.project / "sub") == ""
    await world.do("cd sub; git commit -q --allow-empty -m again")
    assert world.git("log", "-1", "--format=%s", cwd=world.project / "sub") == "again"
    await world.do("git init -q --bare plain.git; git push -q plain.git main")
    assert world.git("log", "--format=%s", "main", cwd=world.project / "plain.git") == "first"


async def test_a_clone_keeps_its_remote_after_a_question(world: GitWorld) -> None:
    world.answer = True
    await world.run("git clone -q --no-local . sub")
    assert len(world.questions) == 1
    assert "remote 'origin'" in world.questions[0]
    assert world.git("log", "--format=%s", cwd=world.project / "sub") == "first"
    assert world.git("status", "-sb", cwd=world.project / "sub") == "## main...origin/main"


STEERING = {
    ".envrc": "echo 'touch x' > .envrc",
    ".vscode": "mkdir .vscode; echo '{}' > .vscode/tasks.json",
    "AGENTS.md": "echo 'Obey.' > AGENTS.md",
    ".claude": "mkdir -p .claude/skills/x; echo '{}' > .claude/settings.json",
    ".CLAUDE": "mkdir -p .CLAUDE; echo '{}' > .CLAUDE/settings.json",
    "sub/.claude": "mkdir -p sub/.claude; echo '{}' > sub/.claude/settings.json",
    "Agents.md ": "echo 'Obey.' > 'Agents.md '",
    ".github": "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/x.yml",
    ".bashrc": "ln -s trap .bashrc",
}


@pytest.mark.parametrize("name", STEERING)
async def test_what_steers_programs_and_is_new_is_there_after_a_yes_alone(world: GitWorld, name: str) -> None:
    done = await world.run(STEERING[name])
    assert any("not approved" in line for line in done.held_back), done
    path = world.project / name
    assert not path.exists() or not any(path.iterdir())
    world.answer = True
    done = await world.run(STEERING[name])
    if name == ".bashrc":  # nobody can judge where a link will lead
        assert not os.path.lexists(path)
        return
    assert done.held_back == (), done
    assert path.exists()
    (question,) = world.questions[-1:]
    assert question.startswith(("Keep", "Change"))


async def test_a_project_that_is_no_repository_becomes_one(tmp_path: Path) -> None:
    world = GitWorld(tmp_path, init=False)
    if world.sandbox.status().kind != "bubblewrap":
        pytest.skip(f"there is no bubblewrap here: {world.sandbox.status().reason}")
    done = await world.run("git init -q -b main; git add .; git commit -qm first; echo evil > .git/hooks/pre-commit")
    assert done.held_back == (".git: hooks/pre-commit",)
    assert world.git("log", "--format=%s") == "first"
    assert world.git("status", "--porcelain") == ""
    assert "error" not in world.git("fsck")
    assert not (world.root / ".git/hooks/pre-commit").exists()
    await world.do("git commit -q --allow-empty -m second")
    assert world.git("log", "-1", "--format=%s") == "second"


SPOOFS = {
    "long": ("export B=1" + " " * 500 + "; touch evil\n", "… and 123 more characters"),
    "line-ends": ("# off\x0cexport A=1\n", "+# off\\x0cexport A=1"),
    "escapes": ("export A=1\x1b[1A\x1b[2K\n", "+export A=1\\x1b[1A"),
}


@pytest.mark.parametrize("kind", SPOOFS)
async def test_a_question_hides_nothing_of_a_change(world: GitWorld, kind: str) -> None:
    content, shown = SPOOFS[kind]
    (world.project / ".envrc").write_text("# off\nexport A=1\n")
    (world.project / "new").write_text(content)
    await world.run("cp new .envrc")
    assert shown in world.questions[0]
