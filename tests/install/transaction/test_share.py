"""Work that forked processes share: what one of them could not do is done all the same, and errors are not lost."""

import subprocess
import sys

CODE = """
import os
from clawft.install.transaction import verification as module

module._count_processors = lambda: 3
parent = os.getpid()

def job(number):
    if number == 7 and os.getpid() != parent:
        os._exit(9)  # as if it had been killed
    return f"{number}" if number % 10 == 7 else None

found = module.run_forked(range(200), job, str)
assert found == {number: str(number) for number in range(200) if number % 10 == 7}, found
assert list(module.run_forked(range(5), lambda number: number, int).values()) == [0, 1, 2, 3, 4]
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("no child is left")
"""


def test_a_process_that_dies_takes_nothing_with_it(child_env: dict[str, str]) -> None:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "no child is left\n"), done.stderr
