"""What runs with all rights of the user is the program that they know, whatever lies in the project."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from arena import Arena
from clawft.app.app import open_app
from wire import say
from world import Person, World, error_of

pytestmark = pytest.mark.anyio

Weft = Callable[..., subprocess.CompletedProcess[str]]
LIKE_MCP = Path(__file__).parents[1] / "agent" / "mcp" / "servers" / "plain.py"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def plant(path: Path, marker: Path, text: str = "#!/bin/sh\n") -> Path:
    """A program that leaves a mark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}echo $0 >> {marker}\n")
    path.chmod(0o755)
    return path


def put_first(world: World, *folders: Path | str) -> None:
    world.environ["PATH"] = os.pathsep.join([*map(str, folders), world.environ["PATH"]])


# Commands outside the sandbox.


async def test_a_command_that_was_let_out_runs_no_program_that_a_confined_one_put_there(arena: Arena) -> None:
    put_first(arena.world, arena.project / ".venv/bin", ".venv/bin")
    plant(arena.project / "src/evil", arena.home / "pwned")
    (arena.project / ".venv/bin").mkdir(parents=True)
    calls: list[dict[str, Any]] = [
        {"command": "cp src/evil .venv/bin/git"},
        {"command": "git --version", "outside_sandbox": True},
    ]
    ended = await arena.use(*(("exec_shell", one) for one in calls))

    assert (arena.project / ".venv/bin/git").exists()
    assert not arena.made("pwned")
    assert ended[1].result["text"].startswith("git version")
    real = os.path.realpath(which("git", path=os.defpath) or "")
    assert arena.asked[-1].question == f"Run OUTSIDE the sandbox: git --version  ({real})"
    assert arena.audit("command", "allowed")[-1]["detail"]["files"] == [real]


async def test_what_is_only_there_where_commands_can_write_is_not_run_outside_by_its_name(arena: Arena) -> None:
    arena.world.config += 'writable = ["~/shared"]\n'
    put_first(arena.world, arena.project / "bin", arena.home / "shared/bin")
    for folder in (arena.project / "bin", arena.home / "shared/bin"):
        plant(folder / f"tool-{folder.parent.name}", arena.home / "pwned")
    (arena.home / "bin").mkdir()
    (arena.home / "bin/linked").symlink_to(arena.project / "bin/tool-project")
    put_first(arena.world, arena.home / "bin")
    names = ("tool-project", "tool-shared", "linked")
    ended = await arena.use(*(("exec_shell", {"command": one, "outside_sandbox": True}) for one in names))

    assert not arena.made("pwned")
    places = (arena.project / "bin/tool-project", arena.home / "shared/bin/tool-shared", arena.home / "bin/linked")
    for one, place in zip(ended, places, strict=True):
        assert error_of(one).startswith("PERMISSION_DENIED")
        assert str(place) in error_of(one)
    assert not arena.asked
    assert not arena.audit("command", "allowed")


async def test_a_file_of_the_project_that_is_named_by_its_path_is_run_and_shown(arena: Arena) -> None:
    plant(arena.project / "tools/release", arena.home / "made")
    (arena.project / "go").symlink_to("tools/release")
    await arena.use(("exec_shell", {"command": "./go && true", "outside_sandbox": True}))

    assert arena.asked[-1].question.endswith(f": ./go && true  ({arena.project}/tools/release)")
    assert arena.made("made")


async def test_no_path_of_a_command_outside_holds_what_commands_can_write(arena: Arena) -> None:
    (arena.project / "bin").mkdir()
    (arena.home / "shared").mkdir()
    (arena.home / "link").symlink_to(arena.home / "shared")
    arena.world.config += 'writable = ["~/shared"]\n'
    put_first(arena.world, arena.project / "bin", "bin", "", arena.home / "link", arena.home / "shared")
    (ended,) = await arena.use(("exec_shell", {"command": "printenv PATH", "outside_sandbox": True}))

    folders = ended.result["text"].split("\n")[0].split(":")
    assert folders == [sysconfig.get_path("scripts"), *os.defpath.split(os.pathsep)]


async def test_no_variable_has_a_program_outside_load_what_lies_in_the_project(arena: Arena) -> None:
    names = ["PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "RUBYOPT", "LD_LIBRARY_PATH"]
    names += ["BASH_ENV", "ENV", "GIT_EXEC_PATH", "GIT_SSH_COMMAND", "DYLD_INSERT_LIBRARIES"]
    arena.world.environ |= dict.fromkeys(names, str(arena.project))
    arena.world.config += f"[tools.exec]\nenv = {json.dumps(['PATH', 'HOME', *names])}\n"
    (ended,) = await arena.use(("exec_shell", {"command": "env", "outside_sandbox": True}))

    given = {line.partition("=")[0] for line in ended.result["text"].splitlines()}
    assert "HOME" in given
    assert not given & set(names)


async def test_python_outside_imports_nothing_from_the_folder_that_it_is_started_in(arena: Arena) -> None:
    for name in ("json.py", "pip.py"):
        (arena.project / name).write_text(f"open('{arena.home}/pwned', 'w')\n")
    for line in ("python3 -c 'import json'", "python3 -m pip --version"):
        await arena.use(("exec_shell", {"command": line, "outside_sandbox": True}))

    assert not arena.made("pwned")


@pytest.mark.parametrize("folder", ["project", "shared"])
async def test_no_planted_program_is_run_unasked_where_there_is_no_sandbox(world: World, folder: str) -> None:
    """A listed command that only looks."""
    place = world.project / "bin" if folder == "project" else world.home / "shared/bin"
    plant(place / "ls", world.home / "pwned")
    put_first(world, place)
    world.config = '[sandbox]\nmode = "off"\nwritable = ["~/shared"]\n'
    person = Person("no")
    world.replies = [_call("exec_shell", command="ls"), say("done")]
    await world.run(approve=person)

    assert not (world.home / "pwned").exists()
    assert str(place / "ls") in person.asked[0].question


def _call(name: str, **arguments: Any) -> Any:
    from wire import call

    return call(name, arguments)


async def test_the_question_says_where_a_repository_has_git_start_programs(arena: Arena) -> None:
    arena.answer = "no"
    (arena.project / ".git/config").write_text("[core]\n\thooksPath = tools\n")
    await arena.use(("exec_shell", {"command": "git commit -m x", "outside_sandbox": True}))

    assert "what this repository says may start a program" in arena.asked[-1].reason


# The user's own MCP servers.


@pytest.mark.parametrize("mode", ["auto", "off"])
async def test_a_server_of_the_user_imports_nothing_from_a_hostile_clone(world: World, mode: str) -> None:
    for name in ("mcp_server_time.py", "sitecustomize.py", "usercustomize.py", "json.py"):
        (world.project / name).write_text(f"open('{world.home}/pwned', 'a').write('{name}')\n")
    world.config = (
        f'[sandbox]\nmode = "{mode}"\n[mcp.servers.time]\ncommand = "python3"\nargs = ["-m", "mcp_server_time"]\n'
    )
    world.config += 'sandbox = "confined"\n' if mode == "off" else ""  # which nothing can do then
    world.replies = [say("done")]
    await world.run()

    assert not (world.home / "pwned").exists()


@pytest.mark.skipif(not which("npx"), reason="there is no npx")
async def test_npx_takes_nothing_from_a_hostile_clone(world: World) -> None:
    clone = world.project
    (clone / "package.json").write_text('{"name": "clone", "dependencies": {"mcp-time": "1.0.0"}}')
    (clone / "node_modules/mcp-time").mkdir(parents=True)
    manifest = {"name": "mcp-time", "version": "1.0.0", "bin": {"mcp-time": "run.js"}}
    (clone / "node_modules/mcp-time/package.json").write_text(json.dumps(manifest))
    run = clone / "node_modules/mcp-time/run.js"
    plant(run, world.home / "pwned")
    (clone / "node_modules/.bin").mkdir()
    (clone / "node_modules/.bin/mcp-time").symlink_to("../mcp-time/run.js")
    shell = plant(clone / "shell", world.home / "pwned")
    (clone / ".npmrc").write_text(f"script-shell={shell}\n")
    world.config = '[mcp.servers.time]\ncommand = "npx"\nargs = ["--offline", "mcp-time"]\n'
    world.replies = [say("done")]
    await world.run()

    assert not (world.home / "pwned").exists()


def _add_server(world: World, name: str, **settings: Any) -> Path:
    """A server of the user's that writes down where it is started, and then speaks as a server does."""
    told = world.home / f"{name}.json"
    script = world.home / "servers" / f"{name}.py"
    script.parent.mkdir(exist_ok=True)
    body = "import beside, json, os, sys\n"
    (script.parent / "beside.py").write_text("")
    body += f"json.dump([os.getcwd(), sys.argv[1:], dict(os.environ)], open({str(told)!r}, 'w'))\n"
    script.write_text(body + f"exec(open({str(LIKE_MCP)!r}).read())\n")
    settings = {"command": "python3", "args": [str(script), "", "${PROJECT}/x"], **settings}
    world.config += f"[mcp.servers.{name}]\n" + "".join(f"{key} = {json.dumps(one)}\n" for key, one in settings.items())
    return told


async def test_a_server_starts_in_the_home_folder_and_is_told_of_the_project_by_name(world: World) -> None:
    told = [
        _add_server(world, "plain"),
        _add_server(world, "sub", cwd="sub"),
        _add_server(world, "named", cwd="${PROJECT}"),
    ]
    (world.project / "sub").mkdir()
    world.replies = [say("done")]
    await world.run()

    starts = [json.loads(one.read_text()) for one in told]
    assert [one[0] for one in starts] == [str(world.home), f"{world.project}/sub", str(world.project)]
    assert starts[0][1] == ["", f"{world.project}/x"]
    files = [one["detail"]["files"] for one in world.audit("command")]
    assert files == [[os.path.realpath(which("python3", path=world.environ["PATH"]) or "")]] * 3


async def test_a_server_in_a_home_that_is_the_project_starts_where_no_command_can_write(tmp_path: Path) -> None:
    world = World(tmp_path)
    told = _add_server(world, "plain")
    world.project = world.home
    world.environ["CLAWFT_PROJECT"] = str(world.home)
    world.replies = [say("done")]
    await world.run()

    assert json.loads(told.read_text())[0] == "/"


@pytest.mark.parametrize("command", ["tickets", "{project}/bin/tickets", "./bin/tickets", "{home}/bin/linked"])
async def test_a_server_whose_program_commands_can_write_is_not_started_and_that_is_told(
    world: World, command: str
) -> None:
    evil = plant(world.project / "bin/tickets", world.home / "pwned")
    (world.home / "bin").mkdir()
    (world.home / "bin/linked").symlink_to(evil)
    put_first(world, world.project / "bin")
    named = command.format(project=world.project, home=world.home)
    world.config = f'[mcp.servers.tickets]\ncommand = "{named}"\ncwd = "${{PROJECT}}"\n'
    world.replies = [say("done")]
    events = await world.run()

    assert not (world.home / "pwned").exists()
    assert str(evil) in str(events) or str(world.home / "bin/linked") in str(events)


# Other programs.


async def test_a_delegates_program_finds_no_interpreter_in_the_project(world: World) -> None:
    plant(world.project / "bin/node", world.home / "pwned")
    claude = world.home / "tools/claude"
    claude.parent.mkdir()
    claude.write_text("#!/usr/bin/env node\n")
    claude.chmod(0o755)
    put_first(world, world.project / "bin", claude.parent)
    person = Person("once")
    world.replies = [_call("delegate", task="work", target="claude"), say("done")]
    await world.run(approve=person)

    assert not (world.home / "pwned").exists()
    assert person.asked[0].question == f"Delegate to: claude -p work  ({claude})"
    assert world.audit("command", "allowed")[-1]["detail"]["files"] == [str(claude)]


def test_no_planted_bubblewrap_is_taken_for_the_sandbox(tmp_path: Path) -> None:
    world = World(tmp_path)
    plant(world.home / "shared/bwrap", world.home / "pwned")
    put_first(world, world.home / "shared")
    (world.user_dir / "config.toml").write_text('[sandbox]\nwritable = ["~/shared"]\n')
    open_app(world.environ, str(world.project)).open_sandbox().status()

    assert not (world.home / "pwned").exists()


# Commands of weft.


@pytest.fixture
def clone(tmp_path: Path) -> World:
    """Planted programs, in a folder of the project that PATH begins with and in one that commands can write."""
    world = World(tmp_path)
    for folder in (world.project / ".venv/bin", world.home / "shared"):
        for name in ("git", "ssh", "ssh-keygen", "npm", "xdg-open", "www-browser", "firefox", "env", "sh"):
            plant(folder / name, world.home / "pwned")
    put_first(world, world.project / ".venv/bin", ".venv/bin", world.home / "shared")
    (world.user_dir / "config.toml").write_text('[sandbox]\nwritable = ["~/shared"]\n')
    return world


def weft(world: World, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "clawft", *words]
    env = {**world.environ, **more}
    return subprocess.run(
        command, cwd=world.project, env=env, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )


def _add_needy(world: World) -> None:
    needs = {"openclaw": {"install": [{"id": "greet", "kind": "node", "package": "greet"}]}}
    world.add_skill("needy", head=f"metadata: {json.dumps(needs)}\n")


def test_an_installer_is_the_users_own_and_the_log_names_its_file(clone: World) -> None:
    _add_needy(clone)
    npm = clone.home / "tools/npm"
    npm.parent.mkdir()
    npm.write_text(f"#!/bin/sh\nenv > {clone.home}/seen; pwd >> {clone.home}/seen\n")
    npm.chmod(0o755)
    path = clone.environ["PATH"].replace(os.defpath, f"{npm.parent}:{os.defpath}")
    done = weft(clone, "skills", "deps", "needy", "--run", "--only", "greet", "--yes", PATH=path, NODE_OPTIONS="-r x")

    assert done.returncode == 0, done.stderr
    assert not (clone.home / "pwned").exists()
    seen = (clone.home / "seen").read_text()
    assert str(clone.project) not in seen
    assert seen.endswith(f"{clone.home}\n")
    assert clone.audit("command", "allowed")[-1]["detail"]["files"] == [str(npm)]


def test_an_installer_that_only_the_project_has_is_refused_and_named(clone: World) -> None:
    _add_needy(clone)
    done = weft(
        clone, "skills", "deps", "needy", "--run", "--only", "greet", "--yes", PATH=f"{clone.project}/.venv/bin"
    )

    assert done.returncode == 3
    assert not (clone.home / "pwned").exists()
    assert "program-writable" in done.stderr
    assert f"{clone.project}/.venv/bin/npm" in done.stderr.replace("\n", "")


def test_installing_from_git_runs_the_users_git(clone: World, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path / "repo")]
    folder = tmp_path / "repo/hello"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: hello\ndescription: Says hello to people.\n---\n\nSay hello.\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    done = weft(clone, "skills", "install", f"git+file://{tmp_path}/repo", "--yes")

    assert done.returncode == 0, done.stderr
    assert not (clone.home / "pwned").exists()


def test_signing_runs_the_users_ssh_keygen(clone: World) -> None:
    key = clone.home / ".ssh/id_ed25519"
    key.parent.mkdir(mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    clone.add_skill("hello")
    done = weft(clone, "skills", "sign", "hello", "--ssh", "--yes")

    assert not (clone.home / "pwned").exists()
    assert done.returncode == 0, done.stderr


def test_no_planted_program_is_taken_for_the_browser(clone: World) -> None:
    import signal
    import time

    command = [sys.executable, "-P", "-m", "clawft", "serve", "--port", "0", "--open"]
    env = {**clone.environ, "DISPLAY": ":99", "BROWSER": "firefox:mine"}
    mine = clone.home / "tools/mine"
    mine.parent.mkdir()
    mine.write_text(f"#!/bin/sh\necho $PWD > {clone.home}/opened.new; mv {clone.home}/opened.new {clone.home}/opened\n")
    mine.chmod(0o755)
    env["PATH"] += f"{os.pathsep}{mine.parent}"
    process = subprocess.Popen(
        command, cwd=clone.project, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    opened, deadline = clone.home / "opened", time.monotonic() + 120
    try:
        while not opened.exists() and not (clone.home / "pwned").exists() and time.monotonic() < deadline:
            assert process.poll() is None, process.stdout and process.stdout.read()
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert not (clone.home / "pwned").exists()
    assert opened.read_text() == f"{clone.home}\n"
