"""A process of its own: `peak_scan.py PATH…` scans them in turn; prints their number and its peak memory in kB."""

import sys

from clawft.scanner.batch import ScannedPath, scan_target
from peak import peak_kb

if __name__ == "__main__":
    for path in sys.argv[1:]:
        scan_target(ScannedPath(path))
    print(len(sys.argv) - 1, peak_kb())
