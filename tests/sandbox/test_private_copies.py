"""Git in the sandbox: commands work on a private copy of the repository, and what they did is there afterwards."""

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from clawft.sandbox.process import Finished
from git_worlds import GitWorld

pytestmark = pytest.mark.anyio
_WAIT = "touch ready; until [ -e stop ]; do sleep 0.02; done"


@pytest.fixture
def world(tmp_path: Path) -> GitWorld:
    world = GitWorld(tmp_path)
    if world.sandbox.status().kind != "bubblewrap":
        pytest.skip(f"there is no bubblewrap here: {world.sandbox.status().reason}")
    return world


def is_sound(world: GitWorld) -> bool:
    """Whether git finds nothing wrong, and the work tree is as the index says."""
    return "error" not in world.git("fsck", "--full", "--strict") and not world.git("status", "--porcelain")


async def test_a_commit_is_there_afterwards(world: GitWorld) -> None:
    await world.do("echo two >> a.txt; echo new > b.txt; git add b.txt; git commit -qam second")
    assert world.git("log", "--format=%s") == "second\nfirst"
    assert world.git("show", "HEAD:b.txt") == "new"
    assert "commit: second" in world.git("reflog", "-1")
    assert is_sound(world)
    assert world.questions == []


async def test_the_real_repository_does_not_change_while_a_command_runs(world: GitWorld) -> None:
    before = world.snapshot()
    (world.project / "go").touch()
    line = "echo x > b; git add b; git commit -qm second; echo y > .git/hooks/post-commit; " + _WAIT

    done: list[Finished] = []

    async def run() -> None:
        done.append(await world.run(line))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            while not (world.project / "ready").exists():
                await anyio.sleep(0.02)
            assert world.snapshot() == before
            (world.project / "stop").touch()
    assert done[0].code == 0
    assert world.git("log", "-1", "--format=%s") == "second"


_TOPIC = "git checkout -q -b t; echo x > b; git add b; git commit -qm b; git checkout -q main; "
_EVERYDAY = {
    "branch": ("git branch topic", "branch --format=%(refname:short)", "main\ntopic"),
    "rename": (
        "git branch a; git branch -m a a/b; git branch -m main trunk",
        "branch --format=%(refname:short)",
        "a/b\ntrunk",
    ),
    "checkout": ("git checkout -q -b topic", "symbolic-ref HEAD", "refs/heads/topic"),
    "upstream": ("git switch -q -c up; git branch -q -u main", "config branch.up.merge", "refs/heads/main"),
    "tags": ("git tag v1; git tag -a -m two v2; git pack-refs --all; git tag -d v1", "tag", "v2"),
    "notes": ("git notes add -m note", "notes show", "note"),
    "stashes": (
        "echo x >> a.txt; git stash -q; echo y >> a.txt; git stash -q; git stash drop -q",
        "stash list --format=%gd",
        "stash@{0}",
    ),
    "pop": (
        "echo x >> a.txt; git stash -q; git stash pop -q; git commit -qam popped",
        "log --format=%s",
        "popped\nfirst",
    ),
    "merge": (_TOPIC + "git merge -q --no-ff -m merged t", "log -1 --format=%s", "merged"),
    "rebase": (
        _TOPIC + "echo y > c; git add c; git commit -qm c; git rebase -q main t",
        "log --format=%s",
        "b\nc\nfirst",
    ),
    "pick": (
        "echo x > b; git add b; git commit -qm b; git revert --no-edit HEAD; git cherry-pick HEAD~1",
        "log -1 --format=%s",
        "b",
    ),
    "amend": ("git commit -q --amend -m changed; git reset -q --hard HEAD", "log --format=%s", "changed"),
    "move": (
        "echo x > b; git add b; git mv a.txt c.txt; git rm -q --cached b; git commit -qm moved; rm b",
        "ls-files",
        "c.txt",
    ),
    "crlf": ("printf 'a\\r\\n' > c; git add c; git commit -qm c", "cat-file -p HEAD:c", "a"),
}


@pytest.mark.parametrize("kind", _EVERYDAY)
async def test_everyday_work_is_there_afterwards(world: GitWorld, kind: str) -> None:
    line, asked, expected = _EVERYDAY[kind]
    await world.do(line)
    assert world.git(*asked.split()) == expected
    assert is_sound(world)
    assert world.questions == []


async def test_hooks_of_the_repository_run_inside(world: GitWorld) -> None:
    hook = world.root / ".git/hooks/commit-msg"
    hook.write_text('#!/bin/sh\nid -u > hooked; echo hooked >> "$1"; touch /etc/weft-was-here || true\n')
    hook.chmod(0o755)
    await world.do("git commit -q --allow-empty -m second && rm hooked")
    assert world.git("log", "-1", "--format=%s") == "second hooked"
    assert not os.path.exists("/etc/weft-was-here")


async def test_a_rebase_that_stops_goes_on_in_the_next_command(world: GitWorld) -> None:
    await world.do("git checkout -q -b t; echo t > a.txt; git commit -qam t; git checkout -q main")
    await world.do("echo m > a.txt; git commit -qam m")
    stopped = await world.run("git rebase t")
    assert stopped.code == 1
    assert stopped.held_back == ()
    assert "rebase in progress" in world.git("status")
    await world.do("echo both > a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue")
    assert world.git("log", "--format=%s") == "m\nt\nfirst"
    assert "rebase" not in world.git("status")
    assert is_sound(world)


async def test_a_work_tree_of_its_own_is_made_and_worked_in(world: GitWorld) -> None:
    await world.do("git worktree add -q wt -b wt; cd wt; echo x > b; git add b; git commit -qm inner")
    await world.do("cd wt; echo y >> b; git commit -qam again")
    assert world.git("log", "--format=%s", cwd=world.project / "wt") == "again\ninner\nfirst"
    assert world.git("status", "--porcelain", cwd=world.project / "wt") == ""
    assert world.git("log", "--format=%s") == "first"


async def test_a_remote_is_asked_about(world: GitWorld) -> None:
    await world.do("git remote add origin https://example.com/a.git")
    assert world.questions == ["Set the remote 'origin' of this repository to https://example.com/a.git"]
    assert world.git("remote", "-v").split()[:2] == ["origin", "https://example.com/a.git"]
    world.answer = False
    done = await world.run("git remote set-url origin https://example.org/b.git")
    assert done.held_back == (".git: the remote 'origin', which was not approved",)
    assert world.git("remote", "get-url", "origin") == "https://example.com/a.git"


async def test_what_another_program_did_meanwhile_is_not_lost(world: GitWorld) -> None:
    """The person commits to the same branch while the command runs: both commits are there."""
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            done: list[Finished] = []

            async def run() -> None:
                line = "git commit -q --allow-empty -m inside; " + _WAIT
                done.append(await world.run(line))

            tasks.start_soon(run)
            while not (world.project / "ready").exists():
                await anyio.sleep(0.02)
            world.git("commit", "-q", "--allow-empty", "-m", "outside")
            (world.project / "stop").touch()
    assert world.git("log", "-1", "--format=%s") == "outside"
    (kept,) = world.git("for-each-ref", "--format=%(refname)", "refs/weft/kept").split()
    assert world.git("log", "-1", "--format=%s", kept) == "inside"
    assert any(kept in line for line in done[0].held_back)
    assert "error" not in world.git("fsck")


async def test_a_copy_that_was_not_changed_serves_again_and_a_changed_repository_is_copied_anew(
    world: GitWorld,
) -> None:
    await world.do("true")
    (made,) = (world.user_dir / "cache/copies").iterdir()
    before = {path.name for path in made.iterdir()}
    await world.do("git log")
    assert {path.name for path in made.iterdir()} == before
    world.git("commit", "-q", "--allow-empty", "-m", "outside")
    assert "outside" in await world.do("git log")
    assert {path.name for path in made.iterdir()} != before


async def test_objects_in_packs_and_of_alternates_are_seen(world: GitWorld) -> None:
    world.git("gc", "-q")
    await world.do("echo two >> a.txt; git commit -qam second; git fsck --full")
    assert is_sound(world)


async def test_objects_that_a_command_packed_are_taken_out_of_the_pack(world: GitWorld) -> None:
    lines = (
        "for n in 1 2 3 4 5 6 7 8; do seq 5000 >> a.txt; echo $n >> a.txt; git commit -qam $n; done; git tag -a -m t t"
    )
    await world.do(f"{lines}; git gc -q; ls .git/objects/pack; git repack -qad")
    assert world.git("log", "-1", "--format=%s", "t") == "8"
    assert is_sound(world)


async def test_files_belong_to_the_owner_of_the_repository(world: GitWorld) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    subprocess.run(["chown", "-R", "1234:1234", str(world.root)], check=True)
    world.env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    await world.run("git commit -q --allow-empty -m second; git branch a/b")
    owners = {path.lstat().st_uid for path in (world.root / ".git").rglob("*")}
    assert owners == {1234}


async def test_git_gets_the_users_name_and_harmless_settings_alone(world: GitWorld) -> None:
    for name in (*(f"GIT_AUTHOR_{part}" for part in ("NAME", "EMAIL")), "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        del world.env[name]
    (world.home / "more").write_text("[user]\n\temail = ann@example.com\n")
    (world.home / ".gitconfig").write_text(
        """[user]
        name = Ann \\"A\\" Ä
        signingkey = KEY
[include]
        path = more
[core]
        hooksPath = /evil
        sshCommand = evil
[alias]
        last = log -1 --format=%s
        run = !touch evil
[credential]
        helper = store
[commit]
        gpgsign = true
"""
    )
    await world.do("git commit -q --allow-empty -m second; git config --global user.name Other; git config user.name")
    assert world.git("log", "-1", "--format=%an <%ae>") == 'Ann "A" Ä <ann@example.com>'
    listed = await world.do("git last; git config --list; ls -A ~")
    assert listed.startswith("second\n")
    for part in ("evil", "KEY", "store", "gpgsign", "more"):
        assert part not in listed
    assert "Other" not in (world.home / ".gitconfig").read_text()
