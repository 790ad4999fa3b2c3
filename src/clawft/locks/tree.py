"""The hash by which git, and with it GitHub, knows a folder: the `skills` command locks what it took from there so."""

import hashlib
import os
import stat

__all__ = ["hash_tree"]

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LEFT_OUT = frozenset({".git", ".clawhub", ".clawft", ".clawft-signature"})  # what came to the folder later


def hash_tree(folder: str, *, scripts: bool = False) -> str:
    """The hex SHA-1 of a folder as a git tree; empty folders are none of it.

    `scripts`: whatever begins as a script counts as executable, for folders whose files lost that. Raises: OSError.
    """
    return (_hash_folder(folder, scripts=scripts) or _hash(b"tree", b"")).hex()


def _hash_folder(folder: str, *, scripts: bool) -> bytes | None:
    lines: list[tuple[bytes, bytes]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = os.fsencode(entry.name)
            if entry.name in _LEFT_OUT:
                continue
            if entry.is_symlink():
                target = os.fsencode(os.readlink(entry.path))
                lines.append((name, b"120000 %s\0%s" % (name, _hash(b"blob", target))))
            elif entry.is_dir(follow_symlinks=False):
                inner = _hash_folder(entry.path, scripts=scripts)
                if inner is not None:
                    lines.append((name + b"/", b"40000 %s\0%s" % (name, inner)))  # git's order: as if it ended so
            else:
                lines.append((name, _hash_file(entry.path, name, scripts=scripts)))
    return _hash(b"tree", b"".join(line for _, line in sorted(lines))) if lines else None


def _hash_file(path: str, name: bytes, *, scripts: bool) -> bytes:
    with open(os.open(path, _FILE), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(None, "It holds what is no file", path)
        content = file.read()
    executable = content.startswith(b"#!") if scripts else mode & 0o100
    return b"%s %s\0%s" % (b"100755" if executable else b"100644", name, _hash(b"blob", content))


def _hash(kind: bytes, content: bytes) -> bytes:
    whole = hashlib.sha1(b"%s %d\0" % (kind, len(content)), usedforsecurity=False)
    whole.update(content)
    return whole.digest()
