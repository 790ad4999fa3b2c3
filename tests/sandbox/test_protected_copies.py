"""Files that steer editors and agents: a command changes a copy, and a person sees what it did before it counts."""

from pathlib import Path

import anyio
import pytest

from git_worlds import GitWorld

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> GitWorld:
    world = GitWorld(tmp_path)
    if world.sandbox.status().kind != "bubblewrap":
        pytest.skip(f"there is no bubblewrap here: {world.sandbox.status().reason}")
    (world.project / "AGENTS.md").write_text("Be kind.\n")
    (world.project / ".claude/skills/a").mkdir(parents=True)
    (world.project / ".claude/skills/a/SKILL.md").write_text("old\n")
    world.git("add", ".")
    world.git("commit", "-qm", "agents")
    return world


async def test_a_change_comes_in_after_the_difference_was_shown(world: GitWorld) -> None:
    await world.do("echo 'Be quick.' >> AGENTS.md; cat AGENTS.md")
    assert world.questions == [
        "Change AGENTS.md as the command did?\n--- AGENTS.md\n@@ -1 +1,2 @@\n Be kind.\n+Be quick."
    ]
    assert (world.project / "AGENTS.md").read_text() == "Be kind.\nBe quick.\n"


async def test_without_a_yes_nothing_comes_in_and_the_command_saw_its_own_change(world: GitWorld) -> None:
    world.answer = False
    done = await world.run("echo 'Be evil.' > AGENTS.md; echo new > .claude/skills/a/SKILL.md; cat AGENTS.md")
    assert done.output.decode() == "Be evil.\n"
    assert sorted(done.held_back) == [".claude: the change was not approved", "AGENTS.md: the change was not approved"]
    assert (world.project / "AGENTS.md").read_text() == "Be kind.\n"
    assert (world.project / ".claude/skills/a/SKILL.md").read_text() == "old\n"


async def test_files_of_a_folder_are_made_changed_and_removed(world: GitWorld) -> None:
    line = "cd .claude; mkdir b; echo made > b/c; chmod +x b/c; echo new > skills/a/SKILL.md; mv skills/a skills/d"
    await world.do(line)
    assert "--- b/c, to be run as a program" in world.questions[0]
    assert "--- skills/a/SKILL.md is removed" in world.questions[0]
    assert (world.project / ".claude/b/c").stat().st_mode & 0o777 == 0o755
    assert (world.project / ".claude/skills/d/SKILL.md").read_text() == "new\n"
    assert not (world.project / ".claude/skills/a/SKILL.md").exists()


async def test_what_a_person_changed_meanwhile_stays(world: GitWorld) -> None:
    async def change() -> None:
        while not (world.project / "ready").exists():
            await anyio.sleep(0.02)
        (world.project / "AGENTS.md").write_text("Mine.\n")
        (world.project / "stop").touch()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(change)
            done = await world.run("echo x > AGENTS.md; touch ready; until [ -e stop ]; do sleep 0.02; done")
    assert "another program changed it meanwhile" in done.held_back[0]
    assert (world.project / "AGENTS.md").read_text() == "Mine.\n"


@pytest.mark.parametrize(
    "line",
    [
        "ln -s /etc/passwd .claude/link",
        "mkfifo .claude/pipe",
        "git init -q .claude/x",
        "rm .claude/skills/a/SKILL.md; ln -s ../../../AGENTS.md .claude/skills/a/SKILL.md",
    ],
)
async def test_links_pipes_and_repositories_do_not_come_in(world: GitWorld, line: str) -> None:
    before = {path: path.lstat().st_mode for path in (world.project / ".claude").rglob("*")}
    done = await world.run(line)
    assert done.held_back
    assert {path: path.lstat().st_mode for path in (world.project / ".claude").rglob("*")} == before


async def test_a_file_that_holds_a_secret_is_not_shown_in_a_copy(world: GitWorld) -> None:
    (world.project / ".claude/.env").write_text("TOKEN=s3cret")
    done = await world.run("cat .claude/.env; grep -r s3cret .claude; echo x > .claude/y")
    assert "s3cret" not in done.output.decode()
    assert not (world.project / ".claude/y").exists()
