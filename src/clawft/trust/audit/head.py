"""Where the log ends, under a seal: without it, nobody could tell that the last lines were removed.

The file is written in place, before and after each line: `next` is the hash of the line that is being written, so that
a process that is killed in between leaves nothing that looks like a stranger's line.
"""

import errno
import os
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.files import check_version, why_damaged
from clawft.trust.audit.line import NO_HASH, parse_line
from clawft.trust.seal import Seal

__all__ = ["HEAD_BYTES", "VERSION", "Head", "judge_extra", "read_head", "why_unsealed", "write_head"]

HEAD_BYTES = 512  # one page at most, so that nobody reads half of it
LABEL = "audit-head"
VERSION = 1  # of the lines and of the head, under whose seal it is


class Head(Struct, frozen=True, array_like=True):
    """The end of the log: the number and hash of its last line, and how many bytes its file has."""

    seq: int = 0
    hash: str = NO_HASH
    size: int = 0
    files: int = 0  # how many full ones lie beside it
    next: str = ""
    version: int = VERSION


_VERSION_AT = Head.__struct_fields__.index("version")


def write_head(descriptor: int, head: Head, seal: Seal) -> None:
    """Raises: OSError; ClawftError for a key that cannot be used."""
    content = msgspec.json.encode(head)
    signed = content + b" " + seal.sign(content, LABEL).encode()
    if os.pwrite(descriptor, signed.ljust(HEAD_BYTES - 1) + b"\n", 0) != HEAD_BYTES:  # a new file on a full disk
        os.ftruncate(descriptor, 0)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_head(descriptor: int, seal: Seal, log: str) -> Head | None:
    """What the seal holds for; None where it holds for nothing. A new file is an empty log. `log` is the file it is of.

    Raises: OSError; ClawftError for a key that cannot be used, and for a log of a newer version.
    """
    data = os.pread(descriptor, HEAD_BYTES, 0)
    if not data:
        return Head()
    content, _, mac = data.rstrip().rpartition(b" ")
    if not seal.holds(content, LABEL, mac.decode("ascii", "replace")):
        return None
    fields = msgspec.json.decode(content, type=list[Any])
    check_version(fields[_VERSION_AT] if len(fields) > _VERSION_AT else 1, VERSION, log)
    return msgspec.convert(fields, Head)


def why_unsealed(descriptor: int, seal: Seal) -> str:
    """Say why a head tells no end of the log: something is missing or damaged, or its seal does not hold.

    Raises: OSError; ClawftError for a key that cannot be used.
    """
    data = os.pread(descriptor, HEAD_BYTES, 0)
    if seal.is_missing:
        return "trust.key, the key that seals its end, is missing"
    try:
        msgspec.json.decode(data.rstrip().rpartition(b" ")[0], type=Head)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"audit.head is damaged ({why_damaged(data, error)})"
    return "The seal of its end does not hold: audit.head or trust.key was changed or replaced"


def judge_extra(extra: bytes, sealed: Head) -> Literal["own", "torn", "foreign"]:
    """What stands after the sealed end: the line that was being written, the start of one, or something else."""
    line = extra.removesuffix(b"\n")
    if not extra or b"\n" in line:
        return "foreign"
    parsed = parse_line(line)
    if parsed is None:
        return "torn"
    return "own" if parsed[1] and parsed[0].hash == sealed.next else "foreign"
