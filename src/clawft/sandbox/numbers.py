"""How many processes a namespace may hold, for root: the kernel does not count them, but can run out of numbers.

From Linux 6.14 on, the highest number of a process is a setting of each namespace. It is set from outside by a small
process that joins the namespace, which takes a few milliseconds: for programs that have many processes already.
"""

import os
import shutil
from contextlib import suppress

import anyio

from clawft.sandbox.process import run_process

__all__ = ["limit_numbers"]

_LEAST = 400  # the kernel takes no less than 301
# What joined another namespace than was meant changes nothing: the number of an ended process may be given anew.
_SCRIPT = '[ "$(readlink /proc/self/ns/pid)" = "$1" ] && echo "$2" > /proc/sys/kernel/pid_max'


async def limit_numbers(pid: int, namespace: str, processes: int) -> None:
    """Limit the namespace that the process `pid` is in, where it can be done."""
    kernel = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if os.geteuid() != 0 or kernel < (6, 14) or not namespace:
        return
    nsenter = shutil.which("nsenter", path="/usr/bin:/bin")
    if nsenter is None:
        return
    most = str(max(processes, _LEAST))
    words = (nsenter, "--target", str(pid), "--pid", "/bin/sh", "-c", _SCRIPT, "sh", f"pid:[{namespace}]", most)
    # To its end, whatever happens: if it were killed, nobody near would reap what it left in the namespace.
    with suppress(OSError), anyio.CancelScope(shield=True):
        await run_process(words, cwd="/", env={"PATH": "/usr/bin:/bin"}, timeout_s=5, max_bytes=1000)
