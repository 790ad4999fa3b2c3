"""A process of its own: `peak_scan.py PATH…` scans them in turn; prints their number and its peak memory in kB."""

import sys

from clawft.scan.batch import scan_target
from clawft.scan.targets import Target
from peak import peak_kb

if __name__ == "__main__":
    for path in sys.argv[1:]:
        scan_target(Target(path))
    print(len(sys.argv) - 1, peak_kb())
