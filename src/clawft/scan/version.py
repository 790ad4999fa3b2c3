"""Which scanner made a report: another one may judge otherwise, so what it kept is not used."""

import os
import sys
from functools import cache
from hashlib import blake2b

from clawft import __version__

__all__ = ["scanner_version"]


@cache
def scanner_version() -> str:
    """A hash over the status of every source file of this package: an edited rule makes another scanner."""
    whole = blake2b(f"{__version__} {sys.version_info[:3]}".encode(), digest_size=16)
    pending = [os.path.dirname(__file__)]
    while pending:
        with os.scandir(pending.pop()) as scanned:
            entries = sorted(scanned, key=lambda one: one.name)
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                whole.update(f"{entry.path} {status.st_mtime_ns} {status.st_size}\n".encode("utf-8", "surrogateescape"))
            elif entry.name != "__pycache__" and entry.is_dir():
                pending.append(entry.path)
    return whole.hexdigest()
