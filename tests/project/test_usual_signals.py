"""The plugin that gives signals their usual meaning, in processes that inherited another."""

import subprocess
import sys
from pathlib import Path

import usual_signals

TOOLS = Path(usual_signals.__file__).parent
LOOK = """
import signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
import usual_signals
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(subprocess.run(["sh", "-c", "kill -HUP $$; kill -TERM $$; kill -QUIT $$; echo alive"], stdout=1).returncode)
"""


def test_what_a_parent_ignores_is_not_ignored_by_tests_nor_by_what_they_start(child_env: dict[str, str]) -> None:
    line = "trap '' INT HUP TERM QUIT; exec \"$@\""
    command = ["sh", "-c", line, "sh", sys.executable, "-c", LOOK, str(TOOLS)]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True\n-1\n", "")
