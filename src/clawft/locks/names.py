"""Which skills a lock of ours names, told without reading the rest: a list of skills needs no more."""

__all__ = ["HEAD", "LOCK_NAME", "MAX_LOCK_BYTES", "VERSION", "find_names"]

LOCK_NAME = "skills.lock"
MAX_LOCK_BYTES = 8 << 20
VERSION = 1
HEAD = f"# What weft installed here: from where, and what it was. See: weft skills verify\nversion = {VERSION}\n"
_HEAD = HEAD.encode()
_BLOCK = b"\n[skill."


def find_names(data: bytes) -> list[str] | None:
    """The names in a lock as we write it; None for one that is written otherwise and must be read whole."""
    blocks = data.split(_BLOCK)
    odd = data.count(b"\n[") != len(blocks) - 1 or b"\n<<<<<<<" in data or b"\n======" in data
    if blocks[0] != _HEAD or odd or not data.endswith(b"\n"):
        return None
    names = [block[: block.find(b"]\n")] for block in blocks[1:]]
    plain = [name.decode("ascii", "replace") for name in names if name.replace(b"-", b"").replace(b"_", b"").isalnum()]
    return plain if len(plain) == len(names) else None
