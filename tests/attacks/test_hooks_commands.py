"""Command hooks of a project: an approval holds for what they start, however they start it."""

import json
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.app.hooks import load_command_hook_statuses
from clawft.messages import ToolFinished
from clawft.trust.command_hooks import CommandHooksStatus, approve_commands
from wire import call, say
from world import World, error_of, only


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def plant(world: World, *commands: str) -> CommandHooksStatus:
    """Hooks that came with the project; how they stand."""
    (world.project / ".claude").mkdir(exist_ok=True)
    (world.user_dir / "config.toml").write_text("")
    hooks = [{"type": "command", "command": one} for one in commands]
    (world.project / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": hooks}]}}))
    app = open_app(world.environ, str(world.project))
    (one,) = load_command_hook_statuses(app, ())
    return one


@pytest.mark.anyio
@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'import json, sys; json.load(sys.stdin); sys.exit(2)'",
        "python3 -Bc 'import json, sys; sys.exit(2)'",
        "python3 -m json.tool > /dev/null && exit 2",
        "echo 'import json, sys; sys.exit(2)' | python3",
        "python3 - <<'END'\nimport json, sys\nsys.exit(2)\nEND",
    ],
)
async def test_no_file_of_the_project_takes_the_place_of_what_a_users_hook_means(world: World, command: str) -> None:
    (world.home / ".claude").mkdir()
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
    (world.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    (world.project / "json.py").write_text("import os\nopen('ran', 'w').close()\nos._exit(0)\n")
    world.replies = [call("list_directory", {}), say("done")]
    (done,) = only(await world.run(), ToolFinished)
    assert "the hook 'claude-user'" in error_of(done)
    assert not (world.project / "ran").exists()


@pytest.mark.anyio
async def test_no_program_of_the_project_takes_the_place_of_one_that_a_users_hook_means(world: World) -> None:
    planted = world.project / "bin" / "grep"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\nexit 1\n")
    planted.chmod(0o755)
    (world.home / ".claude").mkdir()
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "grep -q LS && exit 2"}]}]}
    (world.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    world.environ["PATH"] = f"{planted.parent}:{world.environ['PATH']}"
    world.replies = [call("list_directory", {}), say("done")]
    (done,) = only(await world.run(), ToolFinished)
    assert "the hook 'claude-user'" in error_of(done)


def approve(world: World, one: CommandHooksStatus) -> None:
    app = open_app(world.environ, str(world.project))
    approve_commands(one.found, one.digest, app.approvals, app.audit)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("timeout 5 ./s.sh", "s.sh"),
        ("nice -n 5 bash s.sh", "s.sh"),
        ("uv run s.py", "s.py"),
        ("python3.12 s.py", "s.py"),
        ("cat s.sh | sh", "s.sh"),
        ("sh < s.sh", "s.sh"),
        ("cd sub && ./s.sh", "sub/s.sh"),
        ("cd ./sub; if true; then sh s.sh; fi", "sub/s.sh"),
        ("timeout 5 './my script.sh'", "my script.sh"),
        ('"$CLAUDE_PROJECT_DIR"/s.sh', "s.sh"),
        ("${CLAUDE_PROJECT_DIR:-.}/s.sh", "s.sh"),
        ('find . -exec "$CLAUDE_PROJECT_DIR/s.sh" ";"', "s.sh"),
        ("python3 -m tools.check", "tools/check.py"),
        ("make check", "Makefile"),
        ("npm run --silent check", "package.json"),
    ],
)
def test_an_approval_ends_when_a_file_changes_that_a_command_runs(world: World, command: str, file: str) -> None:
    world.project = world.project.rename(world.project.with_name("my project"))
    (world.project / file).parent.mkdir(exist_ok=True)
    (world.project / file).write_text("as it was approved")
    approve(world, plant(world, command))
    assert plant(world, command).state == "ready"
    (world.project / file).write_text("something else")
    assert plant(world, command).state == "untrusted"


def test_what_a_command_writes_is_none_of_what_it_runs(world: World) -> None:
    (world.project / "log.txt").write_text("")
    for command in ("date >> log.txt", "date 2>log.txt", "date | tee -a log.txt", "if true; then date >> log.txt; fi"):
        assert plant(world, command).scripts == ()


def test_a_command_that_names_more_than_can_be_looked_for_is_never_approved(world: World) -> None:
    (world.project / "s.sh").write_text("")
    many = " ".join(f"{number:x}" for number in range(3_000))
    one = plant(world, f"if true; then echo {many} . / /usr /bin; ./s.sh; fi")
    assert (one.state, one.digest) == ("untrusted", "")


@pytest.mark.parametrize("linked", ["settings.json", "."])
def test_settings_of_the_user_that_lie_in_the_project_wait_for_an_approval(world: World, linked: str) -> None:
    (world.user_dir / "config.toml").write_text("")
    kept = world.project / "dotfiles"
    kept.mkdir()
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    (kept / "settings.json").write_text(json.dumps({"hooks": hooks}))
    own = world.home / ".claude"
    if linked == ".":
        own.symlink_to(kept)
    else:
        own.mkdir()
        (own / linked).symlink_to(kept / linked)
    app = open_app(world.environ, str(world.project))
    (one,) = load_command_hook_statuses(app, ())
    assert (one.name, one.state) == ("claude-user", "untrusted")
    approve(world, one)
    (one,) = load_command_hook_statuses(app, ())
    assert one.state == "ready"


@pytest.mark.parametrize("digits", [400, 5000])
def test_no_number_in_a_projects_settings_hides_the_hooks_of_the_user(world: World, digits: int) -> None:
    (world.user_dir / "config.toml").write_text("")
    hook = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": %s}]}]}}'
    for folder, timeout in ((world.home, "5"), (world.project, "9" * digits)):
        (folder / ".claude").mkdir()
        (folder / ".claude" / "settings.json").write_text(hook % timeout)
    standings = load_command_hook_statuses(open_app(world.environ, str(world.project)), ())
    assert standings[0].state == "ready"
    assert len(standings) == 2


def write_own(world: World, *commands: str) -> None:
    (world.home / ".claude").mkdir(exist_ok=True)
    listed = [{"type": "command", "command": one} for one in commands]
    (world.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": listed}]}}))


def find_own(world: World) -> dict[str, CommandHooksStatus]:
    app = open_app(world.environ, str(world.project))
    return {one.name: one for one in load_command_hook_statuses(app, ())}


@pytest.mark.parametrize(
    "command",
    [
        '"$CLAUDE_PROJECT_DIR"/.claude/check.sh',
        "sh .claude/check.sh",
        "./.claude/check.sh && exit 2",
        'if [ -n "$X" ]; then "$CLAUDE_PROJECT_DIR"/.claude/check.sh; fi',
    ],
)
@pytest.mark.anyio
async def test_a_users_hook_that_starts_a_file_of_the_project_waits_until_that_is_approved(
    world: World, command: str
) -> None:
    write_own(world, command, "echo mine >&2; exit 2")
    script = world.project / ".claude" / "check.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    world.replies = lambda _: say("done")
    found = find_own(world)
    assert (found["claude-here"].state, found["claude-user"].state) == ("untrusted", "ready")
    world.replies = [call("list_directory", {}), say("done")]
    (done,) = only(await world.run(), ToolFinished)
    assert "the hook 'claude-user': mine" in error_of(done)
    assert not (world.project / "ran").exists()
    approve(world, found["claude-here"])
    assert find_own(world)["claude-here"].state == "ready"
    script.write_text("#!/bin/sh\ntouch ran elsewhere\n")
    assert find_own(world)["claude-here"].state == "untrusted"


@pytest.mark.parametrize(
    "command", ["jq -r .x | grep -q a/b && exit 2", "if true; then exit 2; fi", "python3 -c 'x' y"]
)
def test_no_file_of_a_project_keeps_a_users_hook_back_that_does_not_start_it(world: World, command: str) -> None:
    write_own(world, command)
    for name in ("jq", "fi", "exit", "x", "y", "grep", "-r", "true"):
        (world.project / name).write_text("x")
    (world.project / "a").mkdir()
    (world.project / "a" / "b").write_text("x")
    assert {name: one.state for name, one in find_own(world).items()} == {"claude-user": "ready"}
