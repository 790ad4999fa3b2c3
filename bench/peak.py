"""A process of its own: `peak.py ROOT CACHE` loads every skill below ROOT and prints its peak memory in kB."""

import resource
import sys
from pathlib import Path

from folder import open_folder


def peak_kb() -> int:
    """The most memory this process held. On Linux `ru_maxrss` may be that of the parent, so it is not used there."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    catalog = open_folder(sys.argv[1], sys.argv[2]).load()
    print(len(catalog.found), peak_kb())
