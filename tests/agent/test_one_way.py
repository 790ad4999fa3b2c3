"""A turn goes one way: settings are loaded once, skills once, a command is parsed once; and no pass-through layers lie
between the loop and the program that it starts.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from wire import Reply, WireServer, call, say
from world import World

# Runs `weft` with its arguments, counts the calls of some functions in all threads, and keeps the stack of our own
# frames from which each program was started; the last line of stderr tells them.
_WATCH = """
import collections, json, os, sys, threading
counts, starts = collections.Counter(), []
WATCHED = {("app/app.py", "__init__"), ("config/loader.py", "load_config"), ("discovery/catalog.py", "load_catalog"),
           ("trust/shell_text.py", "read")}
def count(frame, event, arg):
    if event == "call":
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        found = ("/".join(path.split("/")[-2:]), name)
        if found in WATCHED:
            counts[f"{found[0]}:{name}"] += 1
def hear(event, args):
    if event in ("subprocess.Popen", "socket.sendmsg"):  # the latter asks the server of the session's namespaces
        frame, stack = sys._getframe(1), []
        while frame is not None:
            if "/clawft/" in frame.f_code.co_filename:
                stack.append(f"{frame.f_code.co_filename.rpartition('/clawft/')[2]}:{frame.f_code.co_name}")
            frame = frame.f_back
        starts.append(stack)
sys.addaudithook(hear)
from clawft.cli import main
threading.setprofile(count)
sys.setprofile(count)
try:
    main()
finally:
    sys.setprofile(None)
    print(json.dumps({"counts": counts, "starts": starts}), file=sys.stderr)
"""


def _run_turn(world: World, *replies: Reply) -> dict[str, Any]:
    """Run `weft agent -m` in a process of its own, and return what was counted in it."""
    with WireServer(replies) as server:
        provider = f'[providers.local]\nwire = "openai"\nbase_url = "{server.url}"\n'
        (world.user_dir / "config.toml").write_text(f'[agents.defaults]\nmodel = "local/m"\n{provider}')
        command = [sys.executable, "-c", _WATCH, "agent", "-m", "hello", "--yes"]
        environ = {**os.environ, **world.environ}
        done = subprocess.run(command, cwd=world.project, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    counted: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return counted


@pytest.fixture
def counted(world: World) -> dict[str, Any]:
    """The counts of a turn whose model has a command run."""
    world.add_skill("one")
    found = _run_turn(world, call("exec_shell", {"command": "echo made > made"}), say("Done."))
    assert (world.project / "made").exists()
    return found


def test_a_turn_loads_the_settings_and_the_skills_once_and_parses_a_command_once(counted: dict[str, Any]) -> None:
    assert counted["counts"] == {
        "app/app.py:__init__": 1,
        "config/loader.py:load_config": 1,
        "discovery/catalog.py:load_catalog": 1,
        "trust/shell_text.py:read": 1,
    }


def test_few_frames_lie_between_the_loop_and_the_program_that_it_starts(counted: dict[str, Any]) -> None:
    in_turn = [stack for stack in counted["starts"] if "agent/loop.py:transport" in stack]
    started = [stack for stack in in_turn if "sandbox/process.py:run_launch" in stack]
    (stack,) = [stack for stack in started if stack[0] in ("sandbox/process.py:_start", "sandbox/room.py:_ask")]
    assert len(stack[: stack.index("agent/loop.py:transport") + 1]) <= 12, stack
