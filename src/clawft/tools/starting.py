"""How a file of a skill is started: by itself, or by the interpreter that its ending or its first line names."""

import os
import re

__all__ = ["ENDINGS", "find_start"]

# Ending -> what runs such a file, where it is not a program by itself.
ENDINGS: dict[str, tuple[str, ...]] = {
    ".sh": ("sh",),
    ".bash": ("bash",),
    ".zsh": ("zsh",),
    ".py": ("python3",),
    ".js": ("node",),
    ".mjs": ("node",),
    ".cjs": ("node",),
    ".rb": ("ruby",),
    ".pl": ("perl",),
    ".php": ("php",),
    ".lua": ("lua",),
    ".r": ("Rscript",),
    ".ps1": ("pwsh", "-File"),
}
_INTERPRETERS = frozenset(words[0] for words in ENDINGS.values()) | {"dash", "ksh", "python", "deno", "bun"}
_SHEBANG = re.compile(rb"#![ \t]*(?:/usr/bin/env[ \t]+(?:-S[ \t]+)?)?(?:[^ \t\n]*/)?([A-Za-z0-9.+-]+)[ \t\r]*(?:\n|\Z)")
_HEAD = 256


def find_start(path: str) -> tuple[str, ...] | None:
    """The words that start a file, to be followed by its path; None if nobody can tell what would run it.

    Raises: OSError.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        head = file.read(_HEAD)
        executable = bool(os.fstat(file.fileno()).st_mode & 0o111)
    if executable and head.startswith((b"#!", b"\x7fELF")):
        return ()
    named = ENDINGS.get(os.path.splitext(path)[1].lower())
    if named is not None:
        return named
    match = _SHEBANG.match(head)
    interpreter = match[1].decode() if match else ""
    return (interpreter,) if interpreter in _INTERPRETERS else None
