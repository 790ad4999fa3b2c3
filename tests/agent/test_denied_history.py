"""What a rule denies to read is in git's objects, too: no git command shows it unasked."""

import subprocess

import pytest

from clawft.messages import ApprovalNeeded, ToolFinished
from wire import call, say
from world import World, only

pytestmark = pytest.mark.anyio

SECRET = "hunter2-in-history"
SHOWING = [
    "git show", "git show HEAD", "git show --stat -p HEAD", "git -C . show HEAD", "git --no-pager show HEAD",
    "git diff HEAD~1 HEAD", "git diff HEAD~1 HEAD -- .", "git log -p", "git log -p -- src/a.txt secrets",
    "git log -Ghunter2 --oneline", "git log -c", "git -c alias.x=show x", "git cat-file --batch-all-objects --batch",
    "git cat-file -p HEAD", "git grep hunter2", "git grep hunter2 HEAD~1", "git archive HEAD", "git stash show -p",
    "git format-patch -1 --stdout", "git blame HEAD -- src/a.txt", "git worktree add copy", "git clone . copy",
    "git checkout-index --prefix=copy/ -a", "git fast-export HEAD", "git rev-list --objects HEAD", "git unknown",
    "git bundle create - HEAD", "git diff-tree -p HEAD", "sh -c 'git show HEAD'", "xargs git show",
    "git restore -p", "git status -v", "git log --format=%H --remerge-diff", "git log $x", "git commit -v",
    "git -C secrets show HEAD -- a.txt", "cd secrets && git show HEAD -- a.txt", "git show HEAD -- '*'",
    "git --work-tree=secrets diff HEAD -- a.txt", "git diff --no-index src secrets2",
    "git show HEAD:./src/../src/a.txt", "/usr/bin/git show HEAD",
]  # fmt: skip
NAMING = [
    "git show HEAD:secrets/key.txt", "git show HEAD~1:secrets/key.txt", "git show :secrets/key.txt",
    "git show :0:secrets/key.txt", "git cat-file -p HEAD:secrets/key.txt", "git cat-file blob HEAD:secrets/key.txt",
    "git show HEAD:./secrets/key.txt", "git diff HEAD -- secrets/key.txt", "git grep x -- ':(top)secrets/key.txt'",
    "git log -p -- ':/secrets'", "git checkout HEAD -- secrets/key.txt", "git show 'HEAD:secrets'",
    "cd src && git show HEAD:secrets/key.txt",
]  # fmt: skip
HARMLESS = [
    "git status", "git status -sb", "git log", "git log --oneline -5", "git log --stat --format=%s", "git branch -v",
    "git diff --stat HEAD~1", "git show --name-only HEAD", "git log -p -- src/a.txt", "git diff HEAD~1 -- src/a.txt",
    "git add src", "git ls-files", "git rev-parse HEAD", "git remote -v", "git --version",
]  # fmt: skip


@pytest.fixture
def repository(world: World) -> World:
    """A tracked file that a rule denies to read, and another one."""
    files = {"secrets/key.txt": SECRET, "secrets/a.txt": SECRET, "src/a.txt": "plain\n", "a.txt": "a\n", "*": "b\n"}
    for name, text in files.items():
        (world.project / name).parent.mkdir(exist_ok=True)
        (world.project / name).write_text(text)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=world.project, check=True, capture_output=True, timeout=60)
    (world.project / "src" / "a.txt").write_text("changed\n")
    commit = [*author, "commit", "-qam", "second"]
    subprocess.run(["git", *commit], cwd=world.project, check=True, capture_output=True, timeout=60)
    return world


def configure(world: World, mode: str, deny: str = "Read(secrets/**)") -> None:
    world.environ["CLAWFT_AGENTS__DEFAULTS__MODE"] = mode
    world.config = f'[permissions]\ndeny = ["{deny}"]\nallow = ["Bash(git:*)"]\n'


async def try_all(world: World, commands: list[str]) -> dict[str, str]:
    """What became of each: refused by a rule, asked about (and not answered), or done."""
    world.replies = [
        *(call("exec_shell", {"command": one}, f"c{index}") for index, one in enumerate(commands)), say("done")
    ]  # fmt: skip
    events = await world.run("go")
    asked = {event.call for event in only(events, ApprovalNeeded)}
    done = {event.call: event for event in only(events, ToolFinished)}
    assert SECRET not in str(events)
    outcomes = {}
    for index, one in enumerate(commands):
        text = str(done[f"c{index}"].result)
        refused = "rule deny Read" in text
        outcomes[one] = "refused" if refused else "asked" if f"c{index}" in asked else "done"
    return outcomes


@pytest.mark.parametrize("mode", ["auto-edit", "full"])
async def test_no_git_command_shows_contents_unasked(repository: World, mode: str) -> None:
    configure(repository, mode)
    for start in range(0, len(SHOWING), 10):
        found = await try_all(repository, SHOWING[start : start + 10])
        assert {one: how for one, how in found.items() if how == "done"} == {}


async def test_a_git_command_that_names_a_denied_path_is_refused_by_the_rule(repository: World) -> None:
    configure(repository, "full")
    for start in range(0, len(NAMING), 7):
        found = await try_all(repository, NAMING[start : start + 7])
        assert {one: how for one, how in found.items() if how != "refused"} == {}


async def test_git_commands_that_show_no_contents_run_as_before(repository: World) -> None:
    configure(repository, "full")
    found = await try_all(repository, HARMLESS)
    assert {one: how for one, how in found.items() if how != "done"} == {}


async def test_without_such_a_rule_nothing_more_is_asked(repository: World) -> None:
    configure(repository, "full", deny="Edit(secrets/**)")
    found = await try_all(repository, ["git show HEAD -- src/a.txt", "git log -p -- src", "git grep plain -- src"])
    assert set(found.values()) == {"done"}
